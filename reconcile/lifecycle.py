"""How a key is (decision-table D): the first rule that holds, with the table's row and a sentence."""

from __future__ import annotations

from dataclasses import dataclass

from reconcile.history import RowMemory
from reconcile.identity import box_name
from reconcile.inputs import Served
from reconcile.join import Joined
from reconcile.runs import long_enough
from reconcile.view import Lifecycle
from reconcile.words import ago, count
from reconcile.world import World

RETRY_DOWN_S = (60, 300, 900)  # a commercial row that LiteLLM calls down is asked again after these
DOWNS = 2  # readings "down" in a row that make a commercial row Unhealthy


@dataclass(frozen=True, slots=True)
class Verdict:
    lifecycle: Lifecycle
    rule: str
    reason: str


def of_box(world: World, joined: Joined) -> Verdict:
    """D1–D5 for a self-hosted key."""
    if joined.ok:
        return Verdict("Healthy", "R06" if joined.row else "R04", _answers(world, joined))
    dead = missed_enough(world, joined)
    if joined.memory.last_ok is not None:
        return Verdict("Unhealthy", "R10", _no_answer(world, joined)) if dead else _missing(world, joined)
    if joined.row and not _served_in_this_history(joined):
        if dead:
            return Verdict("Unhealthy", "R39", _no_answer(world, joined))
        return Verdict("Unknown", "R39", _since_start(world, joined))
    if joined.served is None:
        return Verdict("Awaiting", "R01", _with_note(joined, "the box has not fetched its config"))
    return _loading(world, joined, joined.served)


def missed_enough(world: World, joined: Joined) -> bool:
    """Whether the run of misses is long enough to call the key dead for us."""
    threshold, interval = world.settings.health_fail_threshold, world.sources["vllm"].interval_s
    return long_enough(joined.memory.misses, threshold, interval)


def _served_in_this_history(joined: Joined) -> bool:
    return joined.served is not None and joined.served.last_at >= joined.memory.since


def _loading(world: World, joined: Joined, served: Served) -> Verdict:
    first = served.first_at
    fetched = f"fetched its config {ago(first, world.now)}"
    why = f" ({joined.probe.detail})" if joined.probe.detail else ""
    if joined.memory.probed_at is None or world.now - first < world.settings.health_grace_s:
        return Verdict("Loading", "R02", _with_note(joined, f"{fetched}, not serving yet{why}"))
    return Verdict("Stalled", "R03", _with_note(joined, f"{fetched} and has never served{why}"))


def of_provider(world: World, joined: Joined, row: RowMemory | None) -> Verdict:
    """A commercial key: LiteLLM's word is all there is, and it takes two readings to call it Unhealthy."""
    opinion = joined.opinion
    if opinion is None or opinion.state == "unknown":
        return Verdict("Configured", "R24", "LiteLLM has not said whether it works")
    asked = f"asked {ago(opinion.asked_at, world.now)}"
    if opinion.state == "up":
        return Verdict("Healthy", "R24", f"LiteLLM reaches it, {asked}")
    if row is not None and row.downs >= DOWNS:
        return Verdict("Unhealthy", "R25", f"LiteLLM called it down {row.downs} times running, {asked}; the row stays")
    return Verdict("Configured", "R25", f"LiteLLM called it down once, {asked}; it will be asked again")


def _answers(world: World, joined: Joined) -> str:
    open_note = ", and takes any key, as fleet.open_servers allows" if _open(joined) else ""
    return _with_note(joined, f"answers at {_dialled(joined)}, probed {ago(joined.probe.at, world.now)}{open_note}")


def _open(joined: Joined) -> bool:
    return bool(joined.server and joined.server.open_allowed)


def _missing(world: World, joined: Joined) -> Verdict:
    last = f"last ok {ago(joined.memory.last_ok, world.now)}"
    if joined.memory.misses is None:
        return Verdict("Healthy", "R05", _with_note(joined, f"{last}; no newer probe counts{_stale(joined)}"))
    missed = count(joined.memory.misses.n, "probe")
    return Verdict("Healthy", "R05", _with_note(joined, f"missed {missed}{_why(joined)}, {last}"))


def _no_answer(world: World, joined: Joined) -> str:
    missed = count(joined.memory.misses.n if joined.memory.misses else 0, "probe")
    last = ago(joined.memory.last_ok, world.now)
    ended = f"last ok {last}" if joined.memory.last_ok is not None else "never ok since llmao started"
    return _with_note(joined, f"no good answer from {_dialled(joined)} for {missed}{_why(joined)}, {ended}")


def _since_start(world: World, joined: Joined) -> str:
    missed = joined.memory.misses.n if joined.memory.misses else 0
    began = f"llmao began watching it {ago(joined.memory.since, world.now)}"
    return _with_note(joined, f"{began}; {count(missed, 'miss', 'misses')} so far{_why(joined)}, its row stays")


def _dialled(joined: Joined) -> str:
    return box_name(joined.dial.url) if joined.dial.url else box_name(joined.key.url)


def _why(joined: Joined) -> str:
    return f" ({joined.probe.detail})" if joined.probe.detail else ""


def _stale(joined: Joined) -> str:
    states = {
        "other_url": " (the last was of another address)",
        "other_key": " (the last was with another key)",
        "stale": " (the last is too old)",
    }
    return states.get(joined.probe.state, "")


def _with_note(joined: Joined, sentence: str) -> str:
    return f"{sentence}; {joined.dial.note}" if joined.dial.note else sentence
