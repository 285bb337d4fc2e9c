"""What can happen in a living world, as rules of a Hypothesis state machine: to boxes, networks and providers.

After each happening some time passes, in which llmao reads, decides and writes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from tests.reconcile.living.boxes import Box, Program
from tests.reconcile.living.world import A, B, C, D, E, World

HOSTS = (A, B, C, D, E)
MOODS = ("up", "up", "refused", "timeout", "503", "page", "one in four")
SOURCES = ("vllm", "deployments", "vast", "runpod", "intended", "litellm_health")
MODELS = ("big", "small")
CLOCK_S = 15.0

which = st.integers(min_value=0, max_value=11)
hosts = st.sampled_from(HOSTS)


def happens(**drawn: st.SearchStrategy[Any]) -> Callable[[Callable[..., None]], Any]:
    """A rule after which 0 to 8 clocks of probes pass. A world that broke a law is asked nothing more."""

    def made(what: Callable[..., None]) -> Any:
        @wraps(what)
        def then_time_passes(self: Happenings, clocks: int, **told: Any) -> None:
            with self.kept:
                what(self, **told)
                self.world.pass_time(clocks * CLOCK_S)

        given: dict[str, Any] = {"clocks": st.integers(min_value=0, max_value=8), **drawn}
        return rule(**given)(then_time_passes)  # type: ignore[no-untyped-call]  # as Hypothesis types it

    return made


class Kept:
    """Notes that a law was broken within."""

    broken = False

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, *_: object) -> None:
        self.broken = self.broken or kind is not None


class Happenings(RuleBasedStateMachine):
    """The world, and how its parts are picked by number."""

    world: World

    def __init__(self) -> None:
        super().__init__()
        self.kept = Kept()

    def box(self, host: str) -> Box | None:
        return next(iter(self.world.truth.on(host)), None)

    def server(self, which: int) -> tuple[Box, int, Program] | None:
        """One of the servers that run."""
        found = [(box, port, box.programs[port]) for box in self.world.truth.all for port in sorted(box.programs)]
        return found[which % len(found)] if found else None

    def wanted(self, which: int) -> tuple[str, int] | None:
        """The place of one of the servers that somebody wants."""
        places = sorted(self.world.plane.wishes.servers)
        return places[which % len(places)] if places else None


class OfBoxes(Happenings):
    """Boxes, networks, providers."""

    @happens()
    def time_passes(self) -> None:
        """Nothing else."""

    @happens(which=which, mood=st.sampled_from(MOODS))
    def a_server_changes_its_mood(self, which: int, mood: str) -> None:
        if found := self.server(which):
            found[2].mood = mood

    @happens(which=which)
    def a_server_dies(self, which: int) -> None:
        if found := self.server(which):
            found[2].mood = "refused"

    @happens()
    def all_servers_are_well(self) -> None:
        for box in self.world.truth.all:
            for program in box.programs.values():
                program.mood = "up"

    @happens(host=hosts)
    def a_box_boots(self, host: str) -> None:
        self.world.boot(self.box(host) or self.world.rent(host))

    @happens(host=hosts)
    def an_instance_is_replaced(self, host: str) -> None:
        self.world.truth.all = [box for box in self.world.truth.all if box.host != host]
        self.world.boot(self.world.rent(host))

    @happens(host=hosts)
    def a_box_is_gone(self, host: str) -> None:
        self.world.truth.all = [box for box in self.world.truth.all if box.host != host]

    @happens(host=hosts, running=st.booleans())
    def an_instance_stops_or_starts(self, host: str, running: bool) -> None:
        if box := self.box(host):
            box.running = running

    @happens(host=hosts)
    def ports_are_mapped_anew(self, host: str) -> None:
        if box := self.box(host):
            self.world.remap(box)

    @happens()
    def two_ports_are_swapped(self) -> None:
        if (box := self.box(A)) and len(box.ports) == 2:
            one, other = sorted(box.ports)
            box.ports = {one: box.ports[other], other: box.ports[one]}

    @happens(which=which, takes=st.booleans())
    def a_server_takes_any_key(self, which: int, takes: bool) -> None:
        if found := self.server(which):
            found[2].takes_any_key = takes

    @happens(which=which)
    def a_server_lists_the_weights(self, which: int) -> None:
        if found := self.server(which):
            found[2].serves = found[2].weights

    @happens(which=which, name=st.sampled_from(MODELS))
    def somebody_starts_another_server(self, which: int, name: str) -> None:
        if found := self.server(which):
            self.world.serve(found[0], found[1], name)

    @happens(host=st.sampled_from((A, D)), same_port=st.booleans())
    def another_instance_shares_the_ip(self, host: str, same_port: bool) -> None:
        if len(self.world.truth.on(host)) < 2:
            box = self.world.rent(host)
            if not same_port:
                box.ports = {9000: next(self.world.public)}

    @happens(asker=st.sampled_from(("llmao", "llmao", "litellm")), host=hosts)
    def a_path_is_cut(self, asker: str, host: str) -> None:
        self.world.truth.cut[asker].add(host)  # type: ignore[index]  # one of the two

    @happens()
    def our_network_is_gone(self) -> None:
        self.world.truth.cut["llmao"] |= set(HOSTS)

    @happens(asker=st.sampled_from(("llmao", "litellm")))
    def the_network_is_back(self, asker: str) -> None:
        self.world.truth.cut[asker].clear()  # type: ignore[index]  # one of the two

    @happens(name=st.sampled_from(SOURCES), how=st.sampled_from(("fails", "idle", "works", "works")))
    def a_source_fails(self, name: str, how: str) -> None:
        trouble = self.world.plane.trouble
        trouble.failing.discard(name)
        trouble.idle.discard(name)
        if how != "works":
            {"fails": trouble.failing, "idle": trouble.idle}[how].add(name)

    @happens(host=st.sampled_from((A, B, D, E)), omitted=st.booleans())
    def a_listing_leaves_a_host_out(self, host: str, omitted: bool) -> None:
        for hidden in self.world.plane.trouble.omitted.values():
            (hidden.add if omitted else hidden.discard)(host)

    @happens(name=st.sampled_from(("vllm", "deployments", "vast")), times=st.integers(min_value=1, max_value=5))
    def a_burst_of_readings(self, name: str, times: int) -> None:
        for _ in range(times):
            self.world.fetch_now(name)
