"""What is kept of passes that changed something: every change of a verdict, and what a pass was decided from.

The tables are declared here and belong to `fleet.models`, which imports them.
"""

from __future__ import annotations

from django.db import models


class Event(models.Model):
    """One change of one verdict of one key. `key_id` is the key's deployment id: short, whatever the address and the
    name are. `what` names the verdict (`fleet.events.Standing`), or is "appeared" or "gone"; `before` and `after` are
    its words."""

    at = models.FloatField(db_index=True)
    pass_id = models.BigIntegerField()
    key_id = models.CharField(max_length=60)
    name = models.CharField(max_length=700)
    what = models.CharField(max_length=20)
    before = models.CharField(max_length=200, blank=True)
    after = models.CharField(max_length=200, blank=True)
    reason = models.TextField(blank=True)

    class Meta:
        ordering = ["-id"]
        indexes = [models.Index(fields=["key_id", "-id"])]

    def __str__(self) -> str:
        return f"{self.name} {self.what}: {self.before or '–'} → {self.after or '–'}"


class ReplayBody(models.Model):
    """A reading or a history that some stored pass was decided from: compressed JSON, named by the SHA-256 of that
    JSON, so that what did not change between two passes is kept once."""

    digest = models.CharField(max_length=64, primary_key=True)
    body = models.BinaryField()

    class Meta:
        verbose_name_plural = "replay bodies"

    def __str__(self) -> str:
        return self.digest[:12]


class Replay(models.Model):
    """The whole input of one pass (`fleet.replays.Stub`, compressed, its bodies apart) and the SHA-256 of its answer;
    the answer itself is the `Pass` of that number, which is kept as long as this."""

    pass_id = models.BigIntegerField(primary_key=True)
    at = models.FloatField(db_index=True)
    why = models.CharField(max_length=200)
    stub = models.BinaryField()
    answer = models.CharField(max_length=64)
    bodies = models.ManyToManyField(ReplayBody, related_name="replays")

    class Meta:
        ordering = ["-pass_id"]

    def __str__(self) -> str:
        return f"pass {self.pass_id}"
