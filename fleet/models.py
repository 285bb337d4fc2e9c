"""What llmao keeps: readings, what people said, what was written, and the one lease.

Times that take part in a decision are float seconds on the database's clock (`fleet.clock.now`); times that are only
shown to people are datetimes.
"""

from __future__ import annotations

from django.db import models

from fleet.journal import Event as Event  # noqa: PLC0414 - told from here, like every table
from fleet.journal import Replay as Replay  # noqa: PLC0414 - told from here, like every table
from fleet.journal import ReplayBody as ReplayBody  # noqa: PLC0414 - told from here, like every table

ORIGINS = [("config", "config.yaml"), ("approval", "Approve"), ("admin", "admin")]
HOST_LABELS = ("approved", "reboot_requested", "retired")


# --- readings -------------------------------------------------------------------------------------------------


class Snapshot(models.Model):
    """One immutable reading of a source: JSON of the struct in `reconcile.inputs`, compressed."""

    source = models.CharField(max_length=40)
    taken_at = models.FloatField()
    body = models.BinaryField()

    class Meta:
        ordering = ["-taken_at", "-id"]
        indexes = [models.Index(fields=["source", "-taken_at"])]

    def __str__(self) -> str:
        return f"{self.source} at {self.taken_at:.3f}"


class SourceState(models.Model):
    """A source's last good snapshot, and its last failure beside it (`failed_at` is None when the newest fetch was
    good). `configured` is False for a provider without an API key: not a source at all."""

    name = models.CharField(max_length=40, primary_key=True)
    snapshot = models.ForeignKey(Snapshot, null=True, blank=True, on_delete=models.SET_NULL)
    taken_at = models.FloatField(null=True, blank=True)
    failed_at = models.FloatField(null=True, blank=True)
    error = models.TextField(blank=True)
    configured = models.BooleanField(default=True)
    busy_until = models.FloatField(default=0)  # a fetch of it runs until then at the latest
    early_at = models.FloatField(default=0)  # when it was last read early
    not_before = models.FloatField(default=0)  # the other side wants no request before then

    def __str__(self) -> str:
        return self.name


class Heartbeat(models.Model):
    """When a process last showed that it lives: "beat" and "worker"."""

    name = models.CharField(max_length=40, primary_key=True)
    at = models.FloatField()

    def __str__(self) -> str:
        return self.name


# --- what people say ------------------------------------------------------------------------------------------


class Host(models.Model):
    """A box by its address, and what admins wrote on it. Labels are who and when; only `retired` decides anything."""

    address = models.GenericIPAddressField(unique=True, unpack_ipv4=True)
    note = models.TextField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["address"]

    def __str__(self) -> str:
        return self.address


class HostLabel(models.Model):
    host = models.ForeignKey(Host, on_delete=models.CASCADE, related_name="labels")
    label = models.CharField(max_length=20, choices=[(each, each.replace("_", " ")) for each in HOST_LABELS])
    at = models.DateTimeField(auto_now_add=True)
    by = models.CharField(max_length=150)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["host", "label"], name="one_label_of_a_kind")]

    def __str__(self) -> str:
        return f"{self.host} {self.label}"


class IntendedServer(models.Model):
    """A server that should run. Rows of origin "config" mirror config.yaml and are read-only; an approval that config
    took over is kept, with the time it ended."""

    host = models.ForeignKey(Host, on_delete=models.CASCADE, related_name="servers")
    listen_port = models.PositiveIntegerField()
    model = models.CharField(max_length=200)
    label = models.CharField(max_length=200, blank=True)
    pinned_port = models.PositiveIntegerField(null=True, blank=True)
    origin = models.CharField(max_length=20, choices=ORIGINS, default="admin")
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.CharField(max_length=150, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)
    ended_by = models.CharField(max_length=150, blank=True)

    class Meta:
        ordering = ["host__address", "listen_port"]
        constraints = [
            models.UniqueConstraint(
                fields=["host", "listen_port", "origin"],
                condition=models.Q(ended_at=None),
                name="one_server_a_listen_port_and_origin",
            )
        ]

    def __str__(self) -> str:
        return f"{self.model} on {self.host}:{self.listen_port}"


class Approval(models.Model):
    """Somebody approved what they saw: a digest, with the action as it was shown to them."""

    digest = models.CharField(max_length=64)
    kind = models.CharField(max_length=20)
    key_url = models.TextField()  # a stranger's row in LiteLLM may hold any URL, name and id
    key_model = models.TextField()
    name = models.TextField()
    seen = models.JSONField(default=dict)
    at = models.FloatField()
    by = models.CharField(max_length=150)
    spent_at = models.FloatField(null=True, blank=True)
    withdrawn_at = models.FloatField(null=True, blank=True)

    class Meta:
        ordering = ["-at"]
        indexes = [models.Index(fields=["digest"])]

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


# --- the box protocol -----------------------------------------------------------------------------------------


class BoxContact(models.Model):
    """A host that asked for its config: when, from which peer."""

    host = models.GenericIPAddressField(unique=True, unpack_ipv4=True)
    known = models.BooleanField(default=False)  # False: no server was assigned when it last asked
    first_at = models.FloatField()
    last_at = models.FloatField()
    count = models.PositiveIntegerField(default=0)
    peer = models.CharField(max_length=60, blank=True)
    previous_peer = models.CharField(max_length=60, blank=True)
    peer_changed_at = models.FloatField(null=True, blank=True)

    class Meta:
        ordering = ["-last_at"]

    def __str__(self) -> str:
        return self.host


class ServedConfig(models.Model):
    """One revision a box was given with a 200; `servers` is [{"listen_port", "model"}]."""

    contact = models.ForeignKey(BoxContact, on_delete=models.CASCADE, related_name="served")
    revision = models.CharField(max_length=80)
    first_at = models.FloatField()
    last_at = models.FloatField()
    servers = models.JSONField(default=list)

    class Meta:
        ordering = ["-last_at"]
        constraints = [models.UniqueConstraint(fields=["contact", "revision"], name="one_row_a_revision")]

    def __str__(self) -> str:
        return f"{self.contact} {self.revision[:19]}"


# --- writes ---------------------------------------------------------------------------------------------------


class Attempt(models.Model):
    """The newest write of one deployment id; see `reconcile.inputs.Attempt`."""

    deployment_id = models.TextField(primary_key=True)
    kind = models.CharField(max_length=20)
    key_url = models.TextField()
    key_model = models.TextField()
    digest = models.CharField(max_length=64)
    cause = models.CharField(max_length=20, blank=True)
    after = models.JSONField(null=True)
    sent_at = models.FloatField()
    answer = models.CharField(max_length=10, default="pending")
    answered_at = models.FloatField(null=True, blank=True)
    detail = models.TextField(blank=True)
    refusals = models.PositiveIntegerField(default=0)

    def __str__(self) -> str:
        return f"{self.kind} {self.deployment_id}: {self.answer}"


class ActionLog(models.Model):
    """Every write and every human decision: what, why, who or which rule, and LiteLLM's answer."""

    at = models.DateTimeField(auto_now_add=True)
    kind = models.CharField(max_length=30)
    name = models.TextField()
    deployment_id = models.TextField(blank=True)
    reason = models.TextField(blank=True)
    before = models.JSONField(null=True, blank=True)
    after = models.JSONField(null=True, blank=True)
    fields = models.JSONField(default=list, blank=True)
    by = models.CharField(max_length=150)  # a user name, or "rule R10"
    revert = models.BooleanField(default=False)
    answer = models.CharField(max_length=10, blank=True)
    detail = models.TextField(blank=True)
    pass_id = models.BigIntegerField(null=True, blank=True)

    class Meta:
        ordering = ["-at", "-id"]

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


# --- the loop -------------------------------------------------------------------------------------------------


class Lease(models.Model):
    """One row: who decides and writes now. Taken and renewed by one conditional UPDATE on the database's clock.

    `wanted` counts wake-ups; the holder gives the lease back only if none came while it worked.
    """

    name = models.CharField(max_length=20, primary_key=True, default="pass")
    holder = models.CharField(max_length=120, blank=True)
    until = models.FloatField(default=0)
    config_hash = models.CharField(max_length=64, blank=True)
    wanted = models.BigIntegerField(default=0)
    passed_at = models.FloatField(null=True, blank=True)
    two_configurations_at = models.FloatField(null=True, blank=True)

    def __str__(self) -> str:
        return self.holder or "free"


class Memory(models.Model):
    """The history of the last pass, one row (`reconcile.history.History` without placed hosts), compressed."""

    name = models.CharField(max_length=20, primary_key=True, default="history")
    body = models.BinaryField()
    passed_at = models.FloatField()

    def __str__(self) -> str:
        return self.name


class PlacedHost(models.Model):
    """See `reconcile.history.PlacedHost`; survives every restart."""

    host = models.GenericIPAddressField(primary_key=True)
    provider = models.CharField(max_length=40, blank=True)
    instance = models.CharField(max_length=100, blank=True)
    listed_at = models.FloatField()
    once_intended = models.BooleanField(default=False)

    def __str__(self) -> str:
        return self.host


class Pass(models.Model):
    """One run of the decision: its view and plan as compressed JSON. The newest is what pages and commands show."""

    at = models.FloatField()
    view = models.BinaryField()
    plan = models.BinaryField()
    sources = models.JSONField(default=dict)  # source -> taken_at of the snapshot it used
    took_s = models.FloatField(default=0)

    class Meta:
        ordering = ["-id"]
        verbose_name_plural = "passes"

    def __str__(self) -> str:
        return f"pass {self.pk}"
