"""What people, LiteLLM and llmao's own host do in a living world, as rules of a Hypothesis state machine."""

from __future__ import annotations

from dataclasses import replace as edited
from typing import Any

from hypothesis import strategies as st
from msgspec.structs import replace

from tests.reconcile.living.happenings import HOSTS, MODELS, Happenings, happens, hosts, which
from tests.reconcile.living.proxy import FAULTS, Row
from tests.reconcile.living.wishes import GPT
from tests.reconcile.living.world import PLACES, Turns

places = st.sampled_from(PLACES)
MOST_ROWS = 12


class OfLiteLLM(Happenings):
    """The proxy, and people who write in it without llmao."""

    @happens(faults=st.lists(st.sampled_from(FAULTS), min_size=1, max_size=4))
    def the_next_writes_go_wrong(self, faults: list[str]) -> None:
        self.world.plane.litellm.faults.extend(faults)

    @happens(down=st.booleans())
    def litellm_is_down(self, down: bool) -> None:
        self.world.plane.litellm.down = down

    @happens(mute=st.booleans())
    def litellm_says_nothing_of_health(self, mute: bool) -> None:
        self.world.plane.litellm.mute = mute

    @happens(stride=st.integers(min_value=0, max_value=3))
    def requests_go_round_otherwise(self, stride: int) -> None:
        self.world.plane.litellm.stride = stride

    @happens(replica=st.integers(min_value=0, max_value=2), blank=st.booleans())
    def a_replica_loses_its_rows(self, replica: int, blank: bool) -> None:
        broken = self.world.plane.litellm.blank
        (broken.add if blank else broken.discard)(replica)

    @happens(which=which, refuses=st.booleans())
    def litellm_refuses_a_row(self, which: int, refuses: bool) -> None:
        litellm = self.world.plane.litellm
        litellm.refusing.clear()
        if refuses and (row := self.row(which)):
            litellm.refusing.add(row.id)

    @happens(takes_s=st.sampled_from((0.2, 0.2, 20.0, 50.0)))
    def litellm_takes_its_time(self, takes_s: float) -> None:
        self.world.plane.trouble.opinion_takes_s = takes_s

    @happens(down=st.booleans())
    def a_provider_is_down(self, down: bool) -> None:
        broken = self.world.plane.litellm.providers_down
        (broken.add if down else broken.discard)(GPT.removesuffix("/v1"))

    def row(self, which: int) -> Row | None:
        rows = [row for _, row in sorted(self.world.plane.litellm.store.items()) if row.db_model]
        return rows[which % len(rows)] if rows else None

    def put(self, row: Row) -> None:
        if row.id in self.world.plane.litellm.store or len(self.world.plane.litellm.store) < MOST_ROWS:
            self.world.plane.litellm.put(row)

    @happens(which=which)
    def somebody_deletes_a_row(self, which: int) -> None:
        if row := self.row(which):
            self.world.plane.litellm.drop(row.id)

    @happens(which=which, what=st.sampled_from(("name", "stamp", "api_base", "model", "body", "asf", "another stamp")))
    def somebody_edits_a_row(self, which: int, what: str) -> None:
        row, other = self.row(which), self.row(which + 1)
        if row is None or other is None:
            return
        edits: dict[str, dict[str, Any]] = {
            "name": {"name": "big" if row.name != "big" else "small"},
            "stamp": {"info": {**row.info, "llmao_key": None}},
            "api_base": {"params": {**row.params, "api_base": "http://203.0.113.10:8001/v1"}},
            "model": {"params": {**row.params, "model": "hosted_vllm/else"}},
            "body": {"info": {**row.info, "llmao_body": None}},
            "asf": {"info": {**row.info, "asf_api_base": None}},
            "another stamp": {"info": {**row.info, "llmao_key": other.info.get("llmao_key")}},
        }
        if what == "another stamp":  # what was blocked as one key's row is now another's
            self.world.blocked_by_hand.add(row.id)
        self.put(edited(row, **edits[what]))

    @happens(which=which)
    def somebody_blocks_a_row(self, which: int) -> None:
        if row := self.row(which):
            self.world.blocked_by_hand.add(row.id)
            self.put(edited(row, blocked=not row.blocked))

    @happens(which=which)
    def somebody_copies_a_row(self, which: int) -> None:
        if row := self.row(which):
            identifier = f"hand-{next(self.world.ids)}"
            self.put(edited(row, id=identifier, info={**row.info, "id": identifier}))

    @happens(which=which, at=st.sampled_from(("listen", "public", "else")), right=st.booleans(), file=st.booleans())
    def somebody_adds_a_row(self, which: int, at: str, right: bool, file: bool) -> None:
        place = self.wanted(which)
        if place is None:
            return
        host, port = place
        wish, box = self.world.plane.wishes.servers[place], self.box(host)
        public = box.ports.get(port, port) if box else port
        where = {
            "listen": f"http://{host}:{port}/v1",
            "public": f"http://{host}:{public}/v1",
            "else": "http://192.0.2.9:1",
        }
        served = self.world.plane.wishes.names[wish.model]
        key = self.world.plane.wishes.key_of(host, port) if right else "sk-other"
        self.put(self.world.by_hand(wish.model, where[at], served, key, db_model=not file))


class OfPeople(Happenings):
    """config.yaml, models.yaml, the admin's pages, and the machine that llmao runs on."""

    def edit(self) -> None:
        self.world.edited()

    @happens(place=places, model=st.sampled_from(MODELS))
    def somebody_wants_a_server(self, place: tuple[str, int], model: str) -> None:
        names = self.world.plane.wishes.names
        self.world.wish(*place, next(name for name in names if name.startswith(model)))
        self.edit()

    @happens(which=which)
    def somebody_drops_a_server(self, which: int) -> None:
        if place := self.wanted(which):
            del self.world.plane.wishes.servers[place]
            self.edit()

    @happens(which=which, host=hosts)
    def somebody_moves_a_server(self, which: int, host: str) -> None:
        if place := self.wanted(which):
            wish = self.world.plane.wishes.servers.pop(place)
            self.world.wish(host, 8001, wish.model)
            self.edit()

    @happens(model=st.sampled_from(MODELS))
    def somebody_renames_a_model(self, model: str) -> None:
        wishes = self.world.plane.wishes
        old = next(name for name in wishes.names if name.startswith(model))
        wishes.rename(old, f"{model}2" if old == model else model)
        self.edit()

    @happens(which=which, pinned=st.booleans())
    def somebody_pins_a_port(self, which: int, pinned: bool) -> None:
        wishes, place = self.world.plane.wishes, self.wanted(which)
        if place:
            box = self.box(place[0])
            port = box.ports.get(place[1]) if box and pinned else None
            wishes.servers[place] = edited(wishes.servers[place], pinned_port=port)
            self.edit()

    @happens(what=st.sampled_from(("timeout", "salt", "gpt", "mini")))
    def somebody_changes_a_model(self, what: str) -> None:
        wishes = self.world.plane.wishes
        if what == "timeout":
            wishes.params = {"timeout": wishes.params.get("timeout", 0) + 1}
        elif what == "salt":
            wishes.salt += 1
        elif what in wishes.bought:
            del wishes.bought[what]
        else:
            wishes.bought[what] = GPT
        self.edit()

    @happens(invalid=st.booleans())
    def the_files_are_invalid(self, invalid: bool) -> None:
        self.world.plane.wishes.invalid = invalid
        self.edit()

    @happens(mode=st.sampled_from(("act", "act", "observe")), discovered=st.sampled_from(("auto", "needs_human")))
    def somebody_changes_the_policy(self, mode: str, discovered: str) -> None:
        wishes = self.world.plane.wishes
        wishes.settings = replace(wishes.settings, mode=mode, policy={"add_discovered": discovered})
        self.edit()

    @happens(which=which, drained=st.booleans())
    def somebody_drains_a_key(self, which: int, drained: bool) -> None:
        if place := self.wanted(which):
            keys = self.world.plane.house.drained
            (keys.add if drained else keys.discard)(self.world.plane.wishes.servers[place].key)
            self.edit()

    @happens(host=hosts, retired=st.booleans())
    def somebody_retires_a_host(self, host: str, retired: bool) -> None:
        house = self.world.plane.house
        (house.retired.add if retired else house.retired.discard)(host)
        self.edit()

    @happens(which=which)
    def somebody_approves(self, which: int) -> None:
        last = self.world.watch.last
        planned = last.decision.plan.actions if last else ()
        waiting = [each for each in planned if each.status in ("held", "needs_human")]
        if waiting:
            self.world.approve(waiting[which % len(waiting)])

    @happens(network=st.booleans())
    def llmao_is_restarted(self, network: bool) -> None:
        self.world.restart()
        if not network:
            self.world.truth.cut["llmao"] |= set(HOSTS)

    @happens(running=st.booleans())
    def llmao_stops_or_starts(self, running: bool) -> None:
        self.world.running = running

    @happens(writes=st.integers(min_value=1, max_value=3))
    def the_lease_is_lost(self, writes: int) -> None:
        self.world.plane.trouble.lease_lost = writes

    @happens(each_s=st.sampled_from((15.0, 45.0, 100.0)), which=which)
    def another_control_plane_takes_turns(self, each_s: float, which: int) -> None:
        other = self.world.plane.wishes.copy()
        if place := self.wanted(which):
            del other.servers[place]
        self.world.turns = Turns(other, each_s, self.world.plane.now + each_s)

    @happens()
    def the_other_control_plane_stops(self) -> None:
        self.world.turns = None
        self.edit()
