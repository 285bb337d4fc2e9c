"""A parameter that must go cannot be cleared by a merge: the row is replaced by one under the key's other id.

Add the new row; once it is listed and right, and every replica must know it, delete the old one. The name is never
without a row.
"""

from __future__ import annotations

from reconcile.identity import identifiers
from reconcile.inputs import Deployment
from reconcile.join import Joined, written_at
from reconcile.words import listed
from reconcile.world import World


def leftover(row: Deployment, joined: Joined) -> tuple[str, ...]:
    """The parameters that we wrote to the row and that the configuration no longer has."""
    if joined.body is None or not row.llmao_params:
        return ()
    return tuple(sorted(set(row.llmao_params) - set(joined.body["litellm_params"])))


def other_id(joined: Joined, row: Deployment) -> str:
    """The id that alternates with the row's."""
    first, second = identifiers(joined.key)
    return second if row.id == first else first


def reason(row: Deployment, joined: Joined) -> str:
    return f"{listed(leftover(row, joined))} must go from the row, which LiteLLM can only do by a new one"


def replaced(world: World, joined: Joined) -> Deployment | None:
    """The old row, when the new one is listed and right and the time is over in which a replica may not know it."""
    if joined.row is None or joined.differing or joined.going or joined.row.id not in world.rows:
        return None
    if joined.server and not (joined.ok and world.good("vllm")):  # only a good probe tells what the row should be
        return None
    attempt = world.attempts.get(joined.row.id)
    if attempt and world.now - written_at(attempt) < world.settings.settle_s:
        return None
    return being_replaced(joined)


def being_replaced(joined: Joined) -> Deployment | None:
    """The key's row under its other id that still has what had to go."""
    return next((each for each in joined.ours if each is not joined.row and leftover(each, joined)), None)
