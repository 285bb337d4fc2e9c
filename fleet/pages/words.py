"""The words that people read for what the decision writes: a text, a tone that is also a shape, an explanation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from reconcile.inputs import Kind
from reconcile.view import Lifecycle, ModelStatus, Privacy, ProbeState, SourceState, Status

Tone = Literal["good", "part", "bad", "wait", "none"]


@dataclass(frozen=True)
class Word:
    """`tone` chooses colour and shape together, so that neither has to be told apart alone."""

    text: str
    tone: Tone
    explain: str = ""


MODEL: dict[ModelStatus, Word] = {
    "Available": Word("Available", "good", "Requests to this model are answered."),
    "Degraded": Word("Degraded", "part", "Some of its servers are down; requests are answered by the others."),
    "Unavailable": Word("Unavailable", "bad", "Nothing can answer requests to this model now."),
}
PRIVACY: dict[Privacy, Word] = {
    "Private": Word("Private", "good", "Prompts stay on machines that we run."),
    "External": Word("External", "part", "Prompts leave our machines: an outside provider answers."),
    "Mixed": Word("Mixed", "part", "Some requests are answered outside: treat every prompt as leaving our machines."),
    "Unknown": Word("Not known", "none", "Where prompts go is not known yet: treat them as leaving our machines."),
}
LIFECYCLE: dict[Lifecycle, Word] = {
    "Healthy": Word("Healthy", "good", "It answers, and lists the model that it should serve."),
    "Unhealthy": Word("Unhealthy", "bad", "It was well, and has now missed too many probes running."),
    "Awaiting": Word("Awaiting", "wait", "The box has not asked for its config yet."),
    "Loading": Word("Loading", "wait", "The box has its config and is still getting ready."),
    "Stalled": Word("Stalled", "bad", "The box has had its config for longer than loading should take."),
    "Unknown": Word("Unknown", "none", "Too little has been read to say."),
    "Configured": Word("Configured", "wait", "A provider's deployment that LiteLLM has not checked yet."),
}
PROBE: dict[ProbeState, Word] = {
    "ok": Word("ok", "good", "It answers and lists the model."),
    "not_ok": Word("not ok", "bad", "It answers, but not as it should."),
    "unreached": Word("not reached", "bad", "No answer came."),
    "open": Word("open", "bad", "It takes any key: anyone can use it."),
    "never": Word("never", "none", "It was not probed yet."),
    "stale": Word("stale", "none", "The last probe is too old to say anything."),
    "other_url": Word("elsewhere", "none", "The last probe was of an address that is no longer its own."),
    "other_key": Word("other key", "none", "The last probe was made with a key that is no longer its own."),
    "not_probed": Word("not probed", "none", "A provider's deployment is not probed."),
}
OPINION: dict[str, Word] = {
    "up": Word("up", "good", "LiteLLM's own check got an answer from it."),
    "down": Word("down", "bad", "LiteLLM's own check got no answer from it."),
    "unknown": Word("unknown", "none", "LiteLLM was not asked, or had no answer."),
}
SOURCE: dict[SourceState, Word] = {
    "fresh": Word("Fresh", "good"),
    "failed": Word("Failing", "part", "The newest fetch failed; the last good reading still counts."),
    "stale": Word("Stale", "bad", "The last good reading is too old and counts as unread."),
    "unread": Word("Never read", "none", "There is no reading yet, so nothing is decided from it."),
    "future": Word("From the future", "bad", "The reading is ahead of the database's clock; it counts as unread."),
}
NOT_CONFIGURED = Word("Not configured", "none", "There is no API key for it in config.yaml, so it is no source.")
STATUS: dict[Status, Word] = {
    "ready": Word("Ready", "wait", "The loop sends it next."),
    "settling": Word("Settling", "wait", "It was sent; LiteLLM is given time to show it."),
    "backing_off": Word("Backing off", "part", "LiteLLM refused it; it is tried again later."),
    "held": Word("Held", "part", "It waits for LiteLLM's own opinion. An approval sends it without."),
    "needs_human": Word("Needs a person", "part", "It is sent when somebody approves it."),
    "parked": Word("Parked", "bad", "LiteLLM refused it for good: what it writes has to change first."),
    "observed": Word("Only shown", "none", "policy.mode is observe: nothing is written."),
}
KIND: dict[Kind, str] = {
    "add_litellm": "Add to LiteLLM",
    "update_litellm": "Update in LiteLLM",
    "delete_litellm": "Remove from LiteLLM",
    "prune_orphan": "Remove an orphan from LiteLLM",
    "block": "Block in LiteLLM",
    "unblock": "Unblock in LiteLLM",
}
SKEW = {
    "intended_not_in_litellm": "Not in LiteLLM",
    "mismatch": "Differs",
    "at_listen_port": "At the listen port",
    "litellm_only": "Only in LiteLLM",
    "vllm_up_litellm_down": "vLLM up, LiteLLM down",
    "vllm_down_litellm_up": "vLLM down, LiteLLM up",
    "settling": "Settling",
    "replicas_disagree": "Replicas disagree",
}
STEP = {
    "pinned": "pinned port",
    "listing": "provider's listing",
    "last_known": "last known",
    "row": "from LiteLLM's row",
    "canonical": "listen port",
    "provider": "provider's base",
}
# In the order of the strip: what only a person can mend comes first.
ITEMS = {
    "unknown_box": "Unknown boxes",
    "two_configurations": "Two configurations",
    "source_failing": "Failing sources",
    "reading_from_the_future": "Readings from the future",
    "write_failing": "Writes that fail",
    "open_server": "Open to anyone",
    "approval_ended": "Approvals that ended",
    "peer_changed": "Asked from another address",
    "unhealthy": "Unhealthy",
    "stalled": "Stalled",
    "skew": "Out of step",
    "ambiguous_ports": "Ports mapped twice",
    "unlisted": "Gone from the listing",
    "discovered": "Discovered",
    "orphan": "Orphans",
    "unmanaged": "Not ours",
    "config_row": "In LiteLLM's config file",
}
QUIET = frozenset({"orphan", "unmanaged", "config_row"})  # good to know; nobody has to do anything


def in_words(kind: str) -> str:
    """A kind that has no words of its own yet, readable all the same."""
    return kind.replace("_", " ").capitalize()
