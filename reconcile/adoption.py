"""Rows that somebody made by hand and that are what a key wants: stamped once, and ours from then on (R18)."""

from __future__ import annotations

from reconcile.inputs import Deployment
from reconcile.join import Joined


def candidates(joined: Joined) -> tuple[Deployment, ...]:
    """Database rows that are not ours, with the key's name, at its listen or public address."""
    return tuple(row for row in joined.foreign if row.db_model)


def adoptable(joined: Joined) -> Deployment | None:
    """The one row to stamp: exactly one matches, and our probe with the key that we would write is ok."""
    rows = candidates(joined)
    return rows[0] if joined.row is None and len(rows) == 1 and joined.ok and not joined.drained else None


def why_not(joined: Joined) -> str:
    """Why no row is stamped and none is added beside what is there; "" when nothing stands in the way."""
    rows = candidates(joined)
    if not rows or adoptable(joined):
        return ""
    if joined.row is not None:
        return "llmao has a row of its own there"
    if len(rows) > 1:
        return f"{len(rows)} rows that are not ours match, so none is adopted and none added beside them"
    if joined.server is None:
        return "a provider's row cannot be tried with our key, so it is not adopted, and none is added beside it"
    if joined.drained:
        return "the key is drained, so it is not adopted, and none is added beside it"
    return "it is adopted once our own probe of the box is ok; until then none is added beside it"


def stamp(joined: Joined) -> dict[str, object]:
    """The one update that adopts: our stamp alone, so that everything else stays as it was."""
    return {"model_info": {"llmao_key": joined.key.url}}
