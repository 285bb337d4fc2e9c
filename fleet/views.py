"""The pages: HTTP in, HTTP out. What they show is `fleet.pages`', what they decide is `fleet.approvals`'."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render, resolve_url
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST
from django_htmx.http import HttpResponseClientRedirect, reswap, retarget

from fleet import approvals
from fleet.pages import box_form
from fleet.pages.box_form import Typed
from fleet.pages.live import allowed, live, version

NOTHING_NEW = 204
REFUSED = 422
View = Callable[..., HttpResponseBase]


def signed_in(view: View) -> View:
    """Ask for a sign-in. The middleware's own redirect would make htmx put the sign-in form inside the page."""

    @wraps(view)
    def guarded(request: HttpRequest, **captured: Any) -> HttpResponseBase:
        if request.user.is_authenticated:
            return view(request, **captured)
        if request.headers.get("HX-Request"):
            return HttpResponseClientRedirect(f"{resolve_url('login')}?next={reverse('models')}")
        return redirect_to_login(reverse("models"))

    return login_not_required(guarded)


@never_cache
@signed_in
@require_GET
def models(request: HttpRequest) -> HttpResponse:
    """The whole page."""
    return _page(request)


@never_cache
@signed_in
@require_GET
def models_live(request: HttpRequest) -> HttpResponse:
    """The part that changes; 204 for a page that has it already (`seen`)."""
    if request.GET.get("seen") == version():
        return HttpResponse(status=NOTHING_NEW)
    return _fragment(request)


@signed_in
@require_POST
def approve_box(request: HttpRequest) -> HttpResponse:
    _require(request, "add_intendedserver", "approve a box")
    typed = box_form.read(request.POST)
    try:
        servers = approvals.approve_box(typed.host, box_form.rows(typed), request.user.get_username())
    except approvals.Refused as refused:
        return _refused(request, replace(typed, errors=refused.sentences))
    given = ", ".join(f"{server.model} on {server.listen_port}" for server in servers)
    return _done(request, f"Approved {typed.host}: {given}. The box gets this the next time it asks.")


@signed_in
@require_POST
def approve_action(request: HttpRequest, digest: str) -> HttpResponse:
    _require(request, "add_approval", "approve an action")
    try:
        approval = approvals.approve_action(digest, request.user.get_username())
    except approvals.Refused as refused:
        messages.error(request, str(refused))
        return _answer(request)
    return _done(request, f"Approved for {approval.name}. The loop takes it up in its next pass.")


@signed_in
@require_POST
def withdraw(request: HttpRequest, digest: str) -> HttpResponse:
    _require(request, "add_approval", "withdraw an approval")
    if approvals.withdraw(digest, request.user.get_username()):
        return _done(request, "The approval is withdrawn.")
    messages.error(request, "There is no approval left to withdraw: it was used or withdrawn already.")
    return _answer(request)


@signed_in
@require_POST
def retry(request: HttpRequest, digest: str) -> HttpResponse:
    _require(request, "add_approval", "retry a write")
    try:
        name = approvals.retry(digest, request.user.get_username())
    except approvals.Refused as refused:
        messages.error(request, str(refused))
        return _answer(request)
    return _done(request, f"{name}: its refusals are forgotten, and the loop sends it again.")


def _require(request: HttpRequest, permission: str, deed: str) -> None:
    if not allowed(request.user, permission):
        raise PermissionDenied(f"You may not {deed}: ask an admin for the permission fleet.{permission}.")


def _done(request: HttpRequest, sentence: str) -> HttpResponse:
    messages.success(request, sentence)
    return _answer(request)


def _answer(request: HttpRequest) -> HttpResponse:
    """After a POST: the fragment for htmx, otherwise a redirect, so that a reload posts nothing twice."""
    return _fragment(request) if request.headers.get("HX-Request") else redirect("models")


def _refused(request: HttpRequest, typed: Typed) -> HttpResponse:
    """The form again with its reasons and all that was typed; the reasons alone when the box is no longer unknown."""
    context = _context(request, typed)
    if not context["live"].shows_refusal:
        for sentence in typed.errors:
            messages.error(request, sentence)
    elif request.headers.get("HX-Request"):
        return _reasons(request, typed)
    return _shown(request, context, status=REFUSED)


def _reasons(request: HttpRequest, typed: Typed) -> HttpResponse:
    """For htmx only the list of reasons, put above the form: what was typed is still in it."""
    mark = box_form.mark(typed.host)
    response = render(request, "models/errors.html", {"mark": mark, "errors": typed.errors}, status=REFUSED)
    return reswap(retarget(response, f"#errors-{mark}"), "outerHTML")


def _page(request: HttpRequest) -> HttpResponse:
    return render(request, "models/page.html", _context(request))


def _fragment(request: HttpRequest) -> HttpResponse:
    return render(request, "models/live.html", {**_context(request), "refresh": True})


def _shown(request: HttpRequest, context: dict[str, Any], status: int) -> HttpResponse:
    if request.headers.get("HX-Request"):
        return render(request, "models/live.html", {**context, "refresh": True}, status=status)
    return render(request, "models/page.html", context, status=status)


def _context(request: HttpRequest, typed: Typed | None = None) -> dict[str, Any]:
    page = request.GET.get("page") or request.POST.get("page") or "1"
    return {"live": live(request.user, page, typed)}
