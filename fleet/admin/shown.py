"""Admin pages that only show: nothing can be added, changed or deleted, whatever permissions say."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString

from fleet.redact import redact

LONGEST = 200_000  # characters of a body that are shown: a browser chokes on more before a person reads it


class NoDelete:
    """Nothing is deleted by hand."""

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class OnlyShown(NoDelete):
    """Nothing is added or changed by hand either."""

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class ReadOnly(OnlyShown, admin.ModelAdmin):  # type: ignore[type-arg]
    """A table to look at."""


def moment(at: float | None) -> str:
    """Seconds since the epoch as people read them; "–" for None and for 0, which stands for never."""
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M:%S} UTC" if at else "–"


def body(value: Any) -> SafeString:
    """A stored body, pretty and without secrets."""
    text = json.dumps(redact(value), indent=2, ensure_ascii=False, sort_keys=True)
    rest = len(text) - LONGEST
    return format_html("<pre>{}{}</pre>", text[:LONGEST], f"\n… and {rest:,} characters more" if rest > 0 else "")
