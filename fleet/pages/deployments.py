"""One row a deployment, for staff: its verdicts beside the readings they come from, each with its age."""

from __future__ import annotations

from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from django.core.paginator import Page, Paginator

from fleet.pages.words import LIFECYCLE, OPINION, PROBE, SKEW, STEP, Word, in_words
from reconcile.view import DeploymentView, Record, View

PER_PAGE = 100
IN_SYNC = Word("In sync", "good", "LiteLLM has it as it should be.")
NO_ROW = Word("No row", "none", "LiteLLM has no deployment for it, and needs none yet.")
NOT_OURS = {
    "ours": "",
    "unmanaged": "LiteLLM's row is not ours",
    "config_file": "LiteLLM's row is in its config file",
}


@dataclass(frozen=True)
class DeploymentRow:
    """`address` and `step` are how it is reached and what says so, without a URL: a URL on a page gets pasted."""

    name: str
    model: str
    lifecycle: Word
    sync: tuple[Word, ...]
    fields: str
    address: str
    step: str
    probe: Word
    probe_detail: str
    probe_at: float | None
    opinion: Word
    opinion_detail: str
    opinion_at: float | None
    remarks: tuple[str, ...]
    reason: str


def deployment_page(view: View, number: str | int) -> Page[Record]:
    """The records of one page of the table, in the view's order; a number out of range gives the nearest page."""
    return Paginator(view.records, PER_PAGE).get_page(number)


def deployment_row(record: Record) -> DeploymentRow:
    return DeploymentRow(
        name=f"{record.host}:{record.listen_port}" if record.host else record.provider or record.name,
        model=record.model,
        lifecycle=LIFECYCLE[record.lifecycle],
        sync=sync_words(record),
        fields=", ".join(record.deployment.differing) if record.deployment else "",
        address=_address(record),
        step=STEP.get(record.dialable_step) or record.dialable_step,
        probe=_probe(record),
        probe_detail=record.probe.detail,
        probe_at=record.probe.at,
        opinion=OPINION[record.litellm_health.state],
        opinion_detail=record.litellm_health.detail,
        opinion_at=record.litellm_health.asked_at,
        remarks=_remarks(record),
        reason=record.reason,
    )


def sync_words(record: Record) -> tuple[Word, ...]:
    """Whether LiteLLM has what it should, in a word for each thing that is out of step."""
    if record.skew:
        return tuple(_skew_word(each) for each in record.skew)
    return (IN_SYNC if record.deployment else NO_ROW,)


def _skew_word(skew: str) -> Word:
    return Word(SKEW.get(skew) or in_words(skew), "wait" if skew == "settling" else "part")


def _address(record: Record) -> str:
    if record.dialable_url is None:
        return "unplaced"
    return f"port {urlsplit(record.dialable_url).port}" if record.host else record.provider


def _probe(record: Record) -> Word:
    word = PROBE[record.probe.state]
    early = record.lifecycle in ("Awaiting", "Loading") and record.probe.state == "unreached"
    return replace(word, tone="wait") if early else word  # no answer yet is what loading looks like


def _remarks(record: Record) -> tuple[str, ...]:
    said = (
        "gone from the listing" if record.unlisted else "",
        "drained" if record.drained else "",
        "blocked in LiteLLM" if record.deployment and record.deployment.blocked else "",
        _whose(record.deployment),
        "" if record.origin in ("config", "none") else f"from {record.origin}",
        record.label,
    )
    return tuple(each for each in said if each)


def _whose(deployment: DeploymentView | None) -> str:
    return NOT_OURS[deployment.state] if deployment else ""
