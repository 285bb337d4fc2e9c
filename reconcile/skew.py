"""How a key and its LiteLLM row disagree, and where two kinds of evidence do (decision-table F)."""

from __future__ import annotations

from reconcile.history import RowMemory
from reconcile.identity import same_address
from reconcile.join import DELETES, Joined, written_at
from reconcile.view import Action
from reconcile.world import World


def skews(world: World, joined: Joined, action: Action | None, row: RowMemory | None) -> tuple[str, ...]:
    """The key's skews in a fixed order. A write of ours that cannot be seen for certain yet is settling, not skew."""
    found: list[str] = []
    if joined.going or (action is not None and action.status == "settling") or _just_added(world, joined):
        found.append("settling")
    elif world.counts("deployments"):
        found.extend(_against_the_row(world, joined))
    if row and row.disagreed_at is not None and world.now - row.disagreed_at < world.settings.settle_s:
        found.append("replicas_disagree")
    found.extend(_two_opinions(joined))
    return tuple(found)


def _against_the_row(world: World, joined: Joined) -> list[str]:
    if joined.row is None:
        return ["intended_not_in_litellm"] if _missing(world, joined) else []
    if joined.differing:
        return ["at_listen_port" if _at_listen_port(joined) else "mismatch"]
    return []


def _just_added(world: World, joined: Joined) -> bool:
    """Our add was answered, and a replica that does not know yet leaves it out."""
    attempt = joined.attempt
    if joined.row is not None or attempt is None or attempt.kind in DELETES or attempt.answer != "ok":
        return False
    return world.now - written_at(attempt) < world.settings.settle_s


def satisfied_by(joined: Joined) -> str:
    """The id of the config-file row that already serves this key at its dialable URL; "" when there is none."""
    for row in joined.foreign:
        if not row.db_model and same_address(row.api_base, joined.dial.url):
            return row.id
    return ""


def _missing(world: World, joined: Joined) -> bool:
    """Whether the key should have a row. While the last reading failed nothing is absent (R32)."""
    return world.good("deployments") and not satisfied_by(joined) and (joined.server is None or joined.ok)


def _at_listen_port(joined: Joined) -> bool:
    if joined.row is None or joined.dial.url is None or joined.dial.url == joined.key.url:
        return False
    return same_address(joined.row.api_base, joined.key.url)


def _two_opinions(joined: Joined) -> list[str]:
    """Both readings fresh, and LiteLLM's younger than the probe's last change."""
    opinion, mine = joined.opinion, joined.memory
    if opinion is None or joined.server is None:
        return []
    if joined.ok and opinion.state == "down" and mine.hits and opinion.asked_at > mine.hits.first:
        return ["vllm_up_litellm_down"]
    if joined.failed and opinion.state == "up" and mine.misses and opinion.asked_at > mine.misses.first:
        return ["vllm_down_litellm_up"]
    return []
