"""The rules of the decision, one sentence each, by the id that records, actions and items carry.

A letter with a number (or a letter alone) is a section of the decision table; R01 to R70 are its rows.
"""

from __future__ import annotations

from reconcile.view import Record

SECTIONS = {
    "A": "a provider's deployment is reached at the provider's base",
    "A1": "a pinned public port comes before everything else",
    "A2": "a fresh listing's mapping of the listen port",
    "A3": "without a mapping, the address that worked last, or the one our own row has",
    "A4": "a host that no listing ever had is reached on its listen port",
    "A5": "without a pin, a mapping or a last-known address there is nothing to dial",
    "B": "ok means: /health is 200, /v1/models lists the model, and a wrong key is refused",
    "C": "a run of misses counts once it has enough fresh readings over enough time",
    "E": "what may be written, and when",
    "F": "what is said of a key beside its lifecycle",
}
ROWS = {
    "R01": "the box never fetched its config and nothing answers: Awaiting",
    "R02": "the config was fetched, the probe is not ok, grace is not over: Loading",
    "R03": "the config was fetched, never ok, grace is over: Stalled; its row goes when LiteLLM says down too",
    "R04": "the probe is ok and there is no row: Healthy, and added",
    "R05": "it was ok and has missed too few probes to matter: Healthy",
    "R06": "the probe is ok and the row is as it should be: Healthy, nothing to do",
    "R07": "the box answers at another address than its row has: the row is updated, its id stays",
    "R08": "the row has the listen port where another port is the public one: updated",
    "R09": "our probe and LiteLLM's own check disagree: a badge, nothing is written",
    "R10": "it was ok and has missed enough probes: Unhealthy; its row goes when LiteLLM says down too",
    "R11": "the listing leaves the host out while it answers: Healthy, dialled where it was last known",
    "R12": "its provider's listing left the host out for long enough: unlisted, a sentence and no more",
    "R13": "unlisted and dead: the probe removes it, the listing does not",
    "R14": "unlisted and without a row: a sentence",
    "R15": "a row of ours that no key claims is counted before anything happens to it",
    "R16": "a row of ours that no key claimed for long enough is pruned",
    "R17": "a row that is not ours and matches no key is never touched",
    "R18": "a row that is not ours at a key's name and address: adopted when it is the only one and the probe is ok",
    "R19": "a row of LiteLLM's config file serves its key when it has the right address; otherwise it is shown",
    "R20": "of several rows of ours for one key one is the key's, the others are pruned in time",
    "R21": "somebody removed our row and the probe is ok: put back once it is certain that it is gone",
    "R22": "somebody edited our row: put back",
    "R23": "another instance id under the same key: what was known of the old one does not count",
    "R24": "a provider's deployment is Configured until LiteLLM says how it is, and is added whatever it says",
    "R25": "LiteLLM says down of a provider's deployment twice running: Unhealthy, and the row stays",
    "R26": "no GPU provider is configured: boxes are reached by pin, last-known address or listen port",
    "R27": "a provider that is not configured says nothing",
    "R28": "a host that no listing ever had is never unlisted",
    "R29": "a running instance that nobody wrote down serves one of our models: discovered",
    "R30": "a discovered host is written down: the same key, nothing new is written",
    "R31": "the listing is unread or stale: the last verdict about it stands",
    "R32": "LiteLLM's rows are unread, stale or failing: nothing is absent, and nothing is written",
    "R33": "orphans in a first pass are only counted",
    "R34": "another provider's listing says nothing of this host",
    "R35": "two names on one provider's base are two keys",
    "R36": "two keys on one host are two records with one verdict about the listing",
    "R37": "a legacy server has the shared key everywhere",
    "R38": "after a restart an ok probe is enough: Healthy",
    "R39": "after a restart a row is kept until a whole run of probes was missed: Unknown until then, then Unhealthy",
    "R40": "a host that died while llmao was down is removed by the probe, and then called unlisted",
    "R41": "there is no address to dial: it can be neither probed nor added",
    "R42": "the listing has a new port: it is probed first, and misses at the old one do not count",
    "R43": "our add may not be visible yet: settling",
    "R44": "our delete may still be visible: settling",
    "R45": "LiteLLM refused the write: it is tried again later",
    "R46": "a removal waits while LiteLLM still reaches the box",
    "R47": "a removal without any opinion from LiteLLM waits for a while, and for ever when not one box answers us",
    "R48": "most of our rows would be pruned at once: a person has to say so",
    "R49": "somebody approved exactly this: it is carried out once",
    "R50": "what was approved is no longer what is planned",
    "R51": "mode observe: shown, not written",
    "R52": "no longer written down, and still serving: its row is counted, then pruned",
    "R53": "the configuration is invalid: the last good one stands",
    "R54": "a reading counts once, however many passes see it",
    "R55": "many readings in a short time are no long run",
    "R56": "two instances map one port on one address: the one already known counts, else neither",
    "R57": "the listing has the instance, and it does not run: no mapping",
    "R58": "half a listing is none",
    "R59": "the same instance with a new port is the same key",
    "R60": "a reading from the future is not believed",
    "R61": "renamed? the old row stays while its address answers and the new name is not served",
    "R62": "a server that takes any key is not ok",
    "R63": "removed for health before: it takes several good probes in a row to return",
    "R64": "a box that nobody wrote down presented the fleet's key",
    "R65": "a provider's deployment is never unlisted",
    "R66": "drained: nothing is added, and removals wait",
    "R67": "parked after a refusal for good, until what it writes changes",
    "R68": "the box serves the same weights under another id: the row is updated",
    "R69": "what is configured for the row changed: updated",
    "R70": "a model moved to another host: added there, and the old row is pruned in time",
}
STEPS = {
    "pinned": "A1", "listing": "A2", "last_known": "A3", "row": "A3", "canonical": "A4", "provider": "A", "": "A5",
}  # fmt: skip
SKEWS = {
    "intended_not_in_litellm": "R04",
    "mismatch": "R07",
    "at_listen_port": "R08",
    "litellm_only": "R15",
    "vllm_up_litellm_down": "R09",
    "vllm_down_litellm_up": "R09",
    "settling": "R43",
    "replicas_disagree": "F",
}
STATUSES = {
    "settling": "R43",
    "backing_off": "R45",
    "held": "R46",
    "needs_human": "R49",
    "parked": "R67",
    "observed": "R51",
}
PROBES = {"open": "R62", "other_url": "R42", "stale": "C"}


def sentence(rule: str) -> str:
    """What a rule says; "" for an id that is none."""
    return ROWS.get(rule) or SECTIONS.get(rule, "")


def of_verdicts(record: Record, write: str = "") -> list[tuple[str, str]]:
    """(verdict, rule) of everything that was decided about a record; `write` is the rule of its pending action."""
    found = [("lifecycle", record.rule)]
    if record.origin != "none":
        found.append(("address", STEPS.get(record.dialable_step, "A")))
    found += [(each.replace("_", " "), _of_skew(record, each, write)) for each in record.skew]
    if record.host and record.probe.state not in ("never", "not_probed"):
        found.append(("probe", PROBES.get(record.probe.state, "B")))
    if record.misses:
        found.append(("misses", "C"))
    if record.unlisted:
        found.append(("unlisted", "R12"))
    if record.drained:
        found.append(("drained", "R66"))
    return found


def _of_skew(record: Record, skew: str, write: str) -> str:
    """What differs is told by the write that mends it, where one is planned."""
    if skew == "mismatch" and write:
        return write
    if skew == "settling" and record.deployment is not None:
        return "R44"
    return SKEWS.get(skew, "F")
