"""How a time and a verdict look on a page."""

from __future__ import annotations

from datetime import UTC, datetime

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from fleet.pages.words import Word
from reconcile.words import age as in_age

register = template.Library()


@register.simple_tag
def age(at: float | None, now: float) -> SafeString:
    """`4 s ago`, the exact time on hover; live.js lets it tick. `never` for None, `in 12 s` for what is to come."""
    if at is None:
        return format_html('<span class="age">{}</span>', "never")
    moment = datetime.fromtimestamp(at, UTC)
    text = f"in {in_age(at - now)}" if at > now + 1 else f"{in_age(now - at)} ago"
    exact = f"{moment:%Y-%m-%d %H:%M:%S} UTC"
    return format_html(
        '<time class="age" datetime="{}" title="{}" data-at="{}">{}</time>',
        moment.isoformat(timespec="milliseconds"), exact, f"{at:.1f}", text,
    )  # fmt: skip


@register.simple_tag
def mark(word: Word) -> SafeString:
    """A verdict: a shape and a colour for its tone, and its text; its explanation on hover."""
    return format_html(
        '<span class="mark mark-{}" title="{}"><i class="shape" aria-hidden="true"></i>{}</span>',
        word.tone, word.explain, word.text,
    )  # fmt: skip


@register.filter
def seconds(value: float | None) -> str:
    """An interval: `15 s`, `0.5 s`, `4 h`; nothing for None."""
    if value is None:
        return ""
    return in_age(value) if value >= 10 and value == round(value) else f"{value:g} s"
