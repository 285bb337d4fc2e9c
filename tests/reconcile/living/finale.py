"""How a living world must end: it stands still and llmao falls silent; everything is repaired and LiteLLM has what
people want; a box dies and leaves in time, and returns in time (laws 2 and 9)."""

from __future__ import annotations

from collections.abc import Iterator

from reconcile.identity import Key, address_url, identifiers
from tests.reconcile.living.boxes import Box, own_url
from tests.reconcile.living.plane import Passed, Trouble
from tests.reconcile.living.proxy import Row
from tests.reconcile.living.watch import is_ours
from tests.reconcile.living.wishes import Wish
from tests.reconcile.living.world import World

SLOW_S = 420.0  # three readings of a listing or of the rows, a write that settles, five refusals
QUIET_S = 120.0
TOGETHER_S = 600.0  # prunes are counted together over this long


def stands_still(world: World) -> None:
    """Law 2: whatever is broken stays broken, nothing changes any more, and llmao comes to rest."""
    world.turns = None
    world.plane.litellm.faults.clear()
    world.plane.trouble.lease_lost = 0
    world.plane.litellm.blank.clear()  # a replica that never lists a row again would have it written for ever
    for box in world.truth.all:
        for program in box.programs.values():
            if program.mood == "one in four":
                program.mood = "refused"
    world.pass_time(_patience_s(world))
    _falls_silent(world)


def _patience_s(world: World) -> float:
    """Longer than all waits together: for a reading, an opinion, and the way back of what was removed for health."""
    last = world.last()
    assert last is not None
    removals = max((len(each.removals) for each in last.decision.history.keys), default=0)
    pruned = any(each.kind == "prune_orphan" for each in world.plane.attempts.values())
    probes = min(40, last.settings.health_fail_threshold * 2 ** (removals + 1))
    return float(
        SLOW_S + (TOGETHER_S if pruned else 0) + last.settings.opinion_wait_s + probes * last.snapshots.vllm.interval_s
    )


def _falls_silent(world: World) -> None:
    before = len(world.watch.sent)
    world.pass_time(QUIET_S)
    told = [(each.kind, each.id) for each in world.watch.sent[before:]]
    assert not told, f"law 2: still writing in a world that stands still: {told}"
    last = world.last()
    ready = [each.name for each in last.decision.plan.actions if each.status == "ready"] if last else []
    assert not ready, f"law 2: still ready: {ready}"


def repair(world: World) -> None:
    """Networks, LiteLLM, providers and llmao's own sources work again; boxes are as they are."""
    plane = world.plane
    plane.trouble = Trouble()
    plane.wishes.invalid = False
    plane.litellm.down = plane.litellm.mute = False
    for broken in (plane.litellm.refusing, plane.litellm.providers_down):
        broken.clear()
    for cut in world.truth.cut.values():
        cut.clear()
    # Retry: what LiteLLM refused again and again is tried once more
    plane.attempts = {each: attempt for each, attempt in plane.attempts.items() if attempt.answer != "refused"}
    world.running = True
    world.edited()


def ends_right(world: World) -> None:
    """After the repair LiteLLM has what people want, as far as boxes serve it."""
    repair(world)
    world.pass_time(_patience_s(world))
    _falls_silent(world)
    last = world.last()
    assert last is not None
    if last.settings.mode == "act":
        wrong = [*_wrong_keys(world, last), *_left_over(world, last), *_commercial(world)]
        assert not wrong, "; ".join(wrong)


def _wrong_keys(world: World, last: Passed) -> Iterator[str]:
    plane = world.plane
    shown = {each.deployment_id for each in last.decision.plan.actions}  # many prunes at once wait for a person
    for wish in plane.wishes.servers.values():
        if wish.host in plane.house.retired or not _certain(world, wish):
            continue
        rows = [row for row in plane.litellm.store.values() if is_ours(row) and _of(row, wish.key)]
        leads = list(world.watch.usable(wish.key))
        theirs = [row for row in plane.litellm.store.values() if not is_ours(row) and row.name == wish.model]
        theirs += [
            row for row in rows if row.params.get("api_key") == "sk-other"
        ]  # adopted, and the key stays as it was
        drained = wish.key in plane.house.drained
        if drained:
            if any(not row.blocked for row in rows):
                yield f"{wish.key} is drained and gets traffic"
        elif _serves(world, wish):
            if not leads and not theirs:
                yield f"{wish.key} serves and has no row that leads to it"
            if any(row.blocked and row.id not in world.blocked_by_hand for row in rows):
                yield f"{wish.key} serves, is not drained and its row is blocked"
        elif _anybody(last) and not last.settings.keep_last_row and _dead(world, rows):
            yield f"{wish.key} serves nobody and still has a row"
        if len([row for row in rows if row.id not in shown]) > 1:
            yield f"{wish.key} has {len(rows)} rows"


def _dead(world: World, rows: list[Row]) -> bool:
    return any(not world.plane.litellm.serves(row, asking=False) for row in rows)


def _of(row: Row, key: Key) -> bool:
    """Whether a row is the key's, by its id or by stamp and name."""
    return row.id in identifiers(key) or (row.info.get("llmao_key") == key.url and row.name == key.model)


def _anybody(last: Passed) -> bool:
    return any(each.probe.state == "ok" for each in last.decision.view.records)


def _certain(world: World, wish: Wish) -> bool:
    """Whether it is beyond doubt where the server is dialled: a pin may be wrong, and a provider that is not
    configured says nothing."""
    boxes = [box for box in world.truth.on(wish.host) if wish.listen_port in box.ports]
    configured = all(not box.provider or box.provider in world.plane.wishes.providers for box in boxes)
    return len(boxes) == 1 and configured and wish.pinned_port is None


def _serves(world: World, wish: Wish) -> bool:
    """Whether a probe of today's address is ok."""
    (box,) = [box for box in world.truth.on(wish.host) if wish.listen_port in box.ports]
    url, program = own_url(box, wish.listen_port), box.programs.get(wish.listen_port)
    if url is None or program is None or (program.takes_any_key and not wish.open_allowed):
        return False
    wishes = world.plane.wishes
    named = wishes.names[wish.model]
    listed = program.serves == named or program.weights == f"org/{wish.model.rstrip('0123456789')}"
    return program.mood == "up" and program.takes(wishes.key_of(wish.host, wish.listen_port)) and listed


def _left_over(world: World, last: Passed) -> Iterator[str]:
    """Rows of ours that nobody wants and nobody is told of."""
    told = {each.key for each in last.decision.plan.items} | {each.key for each in last.decision.plan.actions}
    wanted = {wish.key for wish in world.plane.wishes.servers.values() if wish.host not in world.plane.house.retired}
    wanted |= {each.key for each in last.decision.view.records if each.origin == "discovered"}
    wanted |= {Key(base.removesuffix("/v1"), name) for name, base in world.plane.wishes.bought.items()}
    for row in world.plane.litellm.store.values():
        key = Key(row.info.get("llmao_key") or row.params.get("api_base") or "", row.name)
        if is_ours(row) and not any(_of(row, each) for each in wanted) and key not in told:
            yield f"{key} is nobody's and is still there"


def _commercial(world: World) -> Iterator[str]:
    for name in world.plane.wishes.bought:
        if not any(row.name == name for row in world.plane.litellm.store.values()):
            yield f"{name} has no row"


def dies_and_returns(world: World, box: Box, listen_port: int) -> None:
    """Law 9, for a server that has served undisturbed."""
    program = box.programs[listen_port]
    key = Key(address_url(box.host, listen_port), world.plane.wishes.servers[box.host, listen_port].model)
    last = world.last()
    assert last is not None
    threshold, clock_s = last.settings.health_fail_threshold, last.snapshots.vllm.interval_s
    program.mood = "refused"
    world.pass_time((threshold + 2) * clock_s)
    assert not list(_rows(world, key)), f"law 9: {key} is down and has its row after {threshold + 2} clocks"
    program.mood = "up"
    world.pass_time((threshold + 2) * clock_s)
    assert list(_rows(world, key)), f"law 9: {key} answers and has no row after {threshold + 2} clocks"


def _rows(world: World, key: Key) -> Iterator[Row]:
    return (row for row in world.plane.litellm.store.values() if _of(row, key))


def one_dies_and_returns(world: World) -> None:
    """The first server that has served undisturbed, if there is one."""
    places = [(box, port) for box in world.truth.all for port in sorted(box.programs)]
    for box, port in places:
        if undisturbed(world, box, port):
            dies_and_returns(world, box, port)
            return


def undisturbed(world: World, box: Box, listen_port: int) -> bool:
    """Whether a server has served long enough that law 9 says when it must leave: its one row leads to it, and
    nothing holds that row."""
    wish = world.plane.wishes.servers.get((box.host, listen_port))
    last = world.last()
    if wish is None or last is None or last.settings.mode != "act" or last.settings.keep_last_row:
        return False
    if wish.key in world.plane.house.drained or wish.host in world.plane.house.retired or not _certain(world, wish):
        return False
    rows = [row for row in _rows(world, wish.key) if is_ours(row) and not row.blocked]
    alone = all(row in rows for row in world.plane.litellm.store.values() if row.name == wish.model)
    memory = next((each for each in last.decision.history.keys if each.key == wish.key), None)
    return len(rows) == 1 and alone and _serves(world, wish) and memory is not None and len(memory.removals) == 0
