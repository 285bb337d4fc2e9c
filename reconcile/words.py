"""Ages and numbers as an admin would say them."""

from __future__ import annotations


def age(seconds: float) -> str:
    """`52 s`, `12 min`, `3 h`, `2 days`; never negative."""
    whole = max(0, round(seconds))
    for limit, unit, name in ((120, 1, "s"), (7200, 60, "min"), (172800, 3600, "h")):
        if whole < limit:
            return f"{whole // unit} {name}"
    return f"{whole // 86400} days"


def ago(then: float | None, now: float) -> str:
    """`52 s ago`, or `never`."""
    return "never" if then is None else f"{age(now - then)} ago"


def provider(name: str) -> str:
    """A GPU provider as its users write it: `Vast`, `RunPod`."""
    return {"vast": "Vast", "runpod": "RunPod"}.get(name, name)


def count(number: int, one: str, many: str = "") -> str:
    """`1 probe`, `3 probes`."""
    return f"{number} {one if number == 1 else many or one + 's'}"


def listed(names: list[str] | tuple[str, ...]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}" if names else "nothing"
