"""No NUL gets past the door: nothing of ours has one in its address, and PostgreSQL answers it with an error."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase

NUL = "\x00"
SENTENCE = "The address or a cookie holds a NUL character (%00), and nothing here has one: take it out.\n"
Answer = Callable[[HttpRequest], HttpResponseBase]


def refuse_nul(answer: Answer) -> Answer:
    """Middleware: 400 for a request with a NUL in its path, query or cookies, whichever way it is written."""

    def guarded(request: HttpRequest) -> HttpResponseBase:
        return HttpResponse(SENTENCE, status=400, content_type="text/plain") if _holds_nul(request) else answer(request)

    return guarded


def _holds_nul(request: HttpRequest) -> bool:
    query = request.META.get("QUERY_STRING", "")
    path = request.path_info
    if NUL in path or NUL in query or "%00" in query:
        return True
    if path.startswith("/admin/") and "_00" in path:  # the admin's own way to write it in the key of a row
        return True
    return any(NUL in value for value in request.COOKIES.values())
