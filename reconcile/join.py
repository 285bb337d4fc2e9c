"""Everything known about one key in one pass, before anything is decided about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from reconcile import bodies, memory
from reconcile.dialable import Dialable, choose
from reconcile.history import KeyMemory
from reconcile.identity import Key, address_url, box_name, deployment_id, provider_url
from reconcile.inputs import Attempt, Deployment, Model, Opinion, Served, Server
from reconcile.inventory import Place, look_up
from reconcile.matching import Rows, box_urls, the_row
from reconcile.probe import judge
from reconcile.view import InventoryView, ProbeView
from reconcile.world import World

DELETES = ("delete_litellm", "prune_orphan")


@dataclass(frozen=True, slots=True)
class Joined:
    """One key's evidence. `read` says that the latest probe is fresh and of today's dialable URL; `ours` are all our
    rows of the key, `row` the one that counts, `going` says that our own delete of it was answered and only a lagging
    replica still lists it; `opinion` is LiteLLM's, when it is younger than our last write of the row."""

    key: Key
    name: str
    server: Server | None
    model: Model | None
    place: Place
    dial: Dialable
    probe: ProbeView
    read: bool
    memory: KeyMemory
    ours: tuple[Deployment, ...]
    row: Deployment | None
    going: bool
    foreign: tuple[Deployment, ...]
    opinion: Opinion | None
    attempt: Attempt | None
    body: dict[str, Any] | None
    differing: tuple[str, ...]
    served: Served | None
    drained: bool

    @property
    def intended(self) -> bool:
        """Whether a person wants it; otherwise it was discovered."""
        return self.server is None or self.server.origin != "discovered"

    @property
    def ok(self) -> bool:
        return self.read and self.probe.state == "ok"

    @property
    def failed(self) -> bool:
        return self.read and self.probe.state != "ok"

    @property
    def host(self) -> str:
        return self.server.host if self.server else ""

    @property
    def row_id(self) -> str:
        """The id that a write for this key goes to."""
        return self.row.id if self.row else deployment_id(self.key)


def server_key(server: Server) -> Key:
    return Key(address_url(server.host, server.listen_port), server.model)


def model_key(model: Model) -> Key:
    return Key(provider_url(str(model.params["api_base"])), model.name)


def box(world: World, rows: Rows, server: Server) -> Joined:
    """The evidence about a self-hosted key."""
    key = server_key(server)
    before = memory.recalled(world, key)
    place = look_up(world, server.host, server.listen_port, before.instance)
    mine = memory.of_instance(world, before, place)
    ours = rows.of(key)
    model = world.models.get(server.model)
    dial = choose(world, server, place, mine, the_row(key, ours, None))
    mine = memory.of_url(mine, dial.url)
    probe, read = _probed(world, server, model, dial.url, mine.changed_at)
    mine = memory.counted(world, mine, probe) if read else mine
    body = None
    if model and dial.url:
        body = bodies.of_box(key, server, model, dial.url, served_id=probe.served_id, instance=place.instance)
    row = the_row(key, ours, body["model_info"]["llmao_body"] if body else None)
    attempt = world.attempts.get(row.id if row else deployment_id(key))
    opinion = _opinion(world, row.id if row else None, attempt)
    mine = memory.removed(world, memory.asked(mine, opinion), attempt)
    drained = key in world.intended.drained
    mine = memory.marked(mine, drained=drained, discovered=server.origin == "discovered", row=row)
    foreign = rows.foreign(key, box_urls(server.host, server.listen_port, dial.url))
    return Joined(
        key=key,
        name=f"{box_name(key.url)}/{key.model}",
        server=server,
        model=model,
        place=place,
        dial=dial,
        probe=replace(probe, last_ok=mine.last_ok),
        read=read,
        memory=mine,
        ours=ours,
        row=row,
        going=row is not None and going(world, row),
        foreign=foreign,
        opinion=opinion,
        attempt=attempt,
        body=body,
        differing=_differing(row, body, read and probe.state == "ok"),
        served=_served(world, server, mine),
        drained=drained,
    )


def provider(world: World, rows: Rows, model: Model) -> Joined:
    """The evidence about a commercial key: nothing of it is probed or listed."""
    key = model_key(model)
    ours = rows.of(key)
    body = bodies.of_provider(key, model)
    row = the_row(key, ours, body["model_info"]["llmao_body"])
    attempt = world.attempts.get(row.id if row else deployment_id(key))
    return Joined(
        key=key,
        name=f"{model.provider or box_name(key.url)}/{key.model}",
        server=None,
        model=model,
        place=Place(InventoryView(state="never")),
        dial=Dialable(key.url, "provider"),
        probe=ProbeView(state="not_probed"),
        read=False,
        memory=memory.recalled(world, key),
        ours=ours,
        row=row,
        going=row is not None and going(world, row),
        foreign=rows.foreign(key, (key.url,)),
        opinion=_opinion(world, row.id if row else deployment_id(key), attempt),
        attempt=attempt,
        body=body,
        differing=_differing(row, body, certain=True),
        served=None,
        drained=key in world.intended.drained,
    )


def _probed(
    world: World, server: Server, model: Model | None, url: str | None, changed_at: float
) -> tuple[ProbeView, bool]:
    """The newest probe as judged, and whether it counts: fresh, of today's dialable URL, with today's key, and of the
    present instance."""
    probe = world.probes.get(address_url(server.host, server.listen_port))
    if probe is None:
        return ProbeView(state="never"), False
    if probe.url != url:
        return ProbeView(state="other_url", at=probe.at, url=probe.url), False
    if probe.key_hash and probe.key_hash != server.key_hash:
        return ProbeView(state="other_key", at=probe.at, url=probe.url), False
    if world.now - probe.at > world.stale_after(world.sources["vllm"].interval_s) or probe.at < changed_at:
        return ProbeView(state="stale", at=probe.at, url=probe.url), False
    return judge(probe, model, open_allowed=server.open_allowed), True


def _opinion(world: World, row_id: str | None, attempt: Attempt | None) -> Opinion | None:
    """LiteLLM's newest opinion of a row; one asked before our last write of it is unknown."""
    opinion = world.opinions.get(row_id) if row_id else None
    if opinion is None:
        return None
    old = world.now - opinion.asked_at > world.stale_after(world.settings.litellm_health_interval_s)
    return None if old or opinion.asked_at < written_at(attempt) else opinion


def written_at(attempt: Attempt | None) -> float:
    """When our newest write of a row was answered, or sent if it never was; 0.0 when none can have changed it."""
    if attempt is None or attempt.answer in ("refused", "unsent"):
        return 0.0
    return attempt.answered_at or attempt.sent_at


def going(world: World, row: Deployment) -> bool:
    """Whether our own removal of the row was answered, and only a lagging replica lists it."""
    attempt = world.attempts.get(row.id)
    if attempt is None or attempt.kind not in DELETES or attempt.answer != "ok":
        return False
    return world.now - written_at(attempt) < world.settings.settle_s


def _differing(row: Deployment | None, body: dict[str, Any] | None, certain: bool) -> tuple[str, ...]:
    """How the row differs. Without a good probe the served id is not known, and only the rest is compared."""
    if row is None or body is None:
        return ()
    fields = bodies.differing(row, body)
    uncertain = ("litellm_params.model", "model_info.llmao_body")
    return fields if certain else tuple(name for name in fields if name not in uncertain)


def _served(world: World, server: Server, mine: KeyMemory) -> Served | None:
    """The present revision that names this server, by its newest 200; one older than the instance does not count."""
    contact = world.boxes.get(server.host)
    found = [
        served
        for served in (contact.served if contact else ())
        if served.last_at >= mine.changed_at
        and any(each.listen_port == server.listen_port and each.model == server.model for each in served.servers)
    ]
    return max(found, key=lambda served: (served.last_at, served.revision), default=None)
