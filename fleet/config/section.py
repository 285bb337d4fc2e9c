"""A mapping with known keys, read key by key with defaults. What is wrong is reported, and the default taken."""

from __future__ import annotations

from collections.abc import Collection

from fleet.config import urls
from fleet.config.field import Field
from fleet.config.report import Report
from fleet.config.secret import Secret

LONGEST_S = 366 * 24 * 3600
SHORTEST_S = 0.1  # what is asked more often than this keeps a machine busy with nothing else


class Section:
    """`key` is the path of the section; `field` None: it is not there, so every key has its default. `elsewhere`
    names the section of keys that would be right there."""

    def __init__(
        self,
        report: Report,
        key: str,
        field: Field | None,
        *,
        known: Collection[str],
        example: str,
        elsewhere: dict[str, str] | None = None,
    ) -> None:
        self.report, self.key = report, key
        self.line = field.line if field else None
        self.fields = field.known(known, example, elsewhere) if field else {}
        self.is_none = field is not None and field.kind not in ("mapping", "null")

    def get(self, key: str) -> Field | None:
        """The field, None also when nothing is written behind its key."""
        field = self.fields.get(key)
        return None if field is None or field.kind == "null" else field

    def missing(self, key: str, what: str) -> None:
        if self.is_none:
            return  # that was said already
        field = self.fields.get(key)
        line = field.line if field else self.line
        self.report.add(line, f"{self.key}.{key}", f"is missing: write {what}")

    def seconds(self, key: str, default: float, *, zero: bool = False, most: float = LONGEST_S) -> float:
        """A duration from SHORTEST_S, or from 0 with `zero`, to `most`."""
        low = 0.0 if zero else SHORTEST_S
        bound = f"from {low:g}" + (f" to {most:g}" if most < LONGEST_S else "")
        what = f"a number of seconds {bound}, as in {default:g}"
        field = self.get(key)
        value = field.number(what, low, most) if field else None
        return float(default if value is None else value)

    def whole(self, key: str, default: int, high: int) -> int:
        field = self.get(key)
        value = field.integer(f"a whole number from 1 to {high}, as in {default}", 1, high) if field else default
        return default if value is None else value

    def flag(self, key: str, default: bool) -> bool:
        field = self.get(key)
        value = field.boolean() if field else default
        return default if value is None else value

    def choice(self, key: str, options: tuple[str, ...], default: str) -> str:
        field = self.get(key)
        return (field.choice(options) if field else None) or default

    def secret(self, key: str) -> Secret | None:
        field = self.get(key)
        return field.secret() if field else None

    def required_secret(self, key: str, what: str) -> Secret:
        if self.get(key) is None:
            self.missing(key, what)
        return self.secret(key) or Secret("")

    def url(self, key: str, default: str = "") -> str:
        """A base URL without its trailing slash. Without a default it has to be there."""
        field = self.get(key)
        if field is None and not default:
            self.missing(key, "the address, as in http://127.0.0.1:4000")
        text = url(field) if field else None
        return text or default


def url(field: Field) -> str | None:
    """A base URL without its trailing slash; what is wrong is reported without repeating it."""
    if field.kind != "text":
        field.expected("a URL, as in https://api.example.com", hidden=True)
        return None
    text = str(field.node.value).strip()
    if sentence := urls.wrong_with(text):
        field.wrong(sentence)
        return None
    return text.rstrip("/")
