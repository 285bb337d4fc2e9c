"""Records: what pages, commands and metrics show of a key."""

from __future__ import annotations

from reconcile.actions import why_not_added
from reconcile.adoption import candidates, why_not
from reconcile.history import HostMemory, RowMemory
from reconcile.identity import Key, box_name, host_of
from reconcile.inputs import Deployment
from reconcile.join import Joined, going
from reconcile.lifecycle import Verdict
from reconcile.matching import is_ours
from reconcile.skew import satisfied_by, skews
from reconcile.view import Action, DeploymentView, OpinionView, ProbeView, Record
from reconcile.words import age, provider
from reconcile.world import World


def of_key(
    world: World,
    joined: Joined,
    verdict: Verdict,
    action: Action | None,
    memories: tuple[HostMemory | None, RowMemory | None],
) -> Record:
    """The record of a key that somebody wants or that was discovered; `memories` are of its host and of its row."""
    server, place, (host, row) = joined.server, joined.place, memories
    skew = skews(world, joined, action, row)
    return Record(
        key=joined.key,
        name=joined.name,
        host=joined.host,
        listen_port=server.listen_port if server else None,
        model=joined.key.model,
        origin=server.origin if server else "config",
        provider=(joined.model.provider if joined.model and not server else place.shown.provider),
        placed=world.placed[joined.host].provider if joined.host in world.placed else "",
        inventory=place.shown if server else None,
        dialable_url=joined.dial.url,
        dialable_step=joined.dial.step,
        probe=joined.probe,
        config_served_at=joined.served.last_at if joined.served else None,
        deployment=_deployment(joined),
        litellm_health=_opinion(joined),
        misses=joined.memory.misses.n if joined.memory.misses else 0,
        lifecycle=verdict.lifecycle,
        skew=skew,
        unlisted=host.unlisted if host else False,
        label=server.label if server else "",
        drained=joined.drained,
        reason=_reason(world, joined, verdict, skew, host),
        rule=verdict.rule,
    )


def of_row(world: World, row: Deployment) -> Record:
    """The record of a row that no key claims: ours (litellm_only) or somebody else's (unmanaged)."""
    ours = is_ours(row)
    url = (row.llmao_key if ours else None) or row.api_base or ""
    place = box_name(url) or "no address"
    state = "ours" if ours else "unmanaged" if row.db_model else "config_file"
    reason = "a row of ours that no key claims" if ours else "not ours: llmao never touches it"
    return Record(
        key=Key(url, row.name),
        name=f"{place}/{row.name}",
        host=host_of(url),
        listen_port=None,
        model=row.name,
        origin="none",
        probe=ProbeView(state="not_probed"),
        deployment=DeploymentView(id=row.id, api_base=row.api_base, state=state, blocked=row.blocked),  # type: ignore[arg-type]  # one of the three
        litellm_health=OpinionView(state="unknown"),
        lifecycle="Unknown",
        skew=_skew_of_row(world, row) if ours else (),
        reason=reason,
        rule="R15" if ours else "R17" if row.db_model else "R19",
    )


def _skew_of_row(world: World, row: Deployment) -> tuple[str, ...]:
    """A row of ours without a key: while the last reading failed nothing is an orphan (R32)."""
    if going(world, row):
        return ("settling",)
    return ("litellm_only",) if world.good("deployments") else ()


def _deployment(joined: Joined) -> DeploymentView | None:
    if joined.row:
        row, state = joined.row, "ours"
    elif joined.foreign:
        chosen = satisfied_by(joined)
        row = next((each for each in joined.foreign if each.id == chosen), joined.foreign[0])
        state = "unmanaged" if row.db_model else "config_file"
    else:
        return None
    return DeploymentView(
        id=row.id,
        api_base=row.api_base,
        state=state,  # type: ignore[arg-type]  # one of the three
        blocked=row.blocked,
        differing=joined.differing,
    )


def _opinion(joined: Joined) -> OpinionView:
    opinion = joined.opinion
    if opinion is None:
        return OpinionView(state="unknown")
    return OpinionView(state=opinion.state, asked_at=opinion.asked_at, detail=opinion.detail)


def _reason(world: World, joined: Joined, verdict: Verdict, skew: tuple[str, ...], host: HostMemory | None) -> str:
    parts = [verdict.reason]
    if "intended_not_in_litellm" in skew and (waiting := why_not_added(world, joined)):
        parts.append(waiting)
    if joined.row is None and (standing := why_not(joined)):
        parts.append(f"LiteLLM has the row {candidates(joined)[0].id} there, which is not ours: {standing}")
    if not joined.intended:
        parts.append("not in fleet.hosts")
    if host and host.unlisted:
        parts.append(unlisted_sentence(world, host))
    return "; ".join(parts)


def unlisted_sentence(world: World, host: HostMemory) -> str:
    """`not in the Vast listing for 12 min; remove it from fleet.hosts`."""
    placed = provider(world.placed[host.host].provider)
    since = host.absences.first if host.absences else host.read_at
    return f"not in the {placed} listing for {age(world.now - since)}; remove it from fleet.hosts when it is gone"
