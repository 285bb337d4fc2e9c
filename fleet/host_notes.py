"""What people and the box itself said of a host, in a sentence: retired, or waiting to be approved."""

from __future__ import annotations

from fleet.models import BoxContact, HostLabel
from reconcile.identity import canonical_host
from reconcile.words import ago, count


def host_in(key: str) -> str:
    """The host that a KEY begins with (`203.0.113.10`, `203.0.113.10:8001/model`, `[2001:db8::1]:8001`), "" when it
    begins with none."""
    place = key.strip().removeprefix("http://").partition("/")[0]
    for text in (place, place.rpartition(":")[0]):
        try:
            return canonical_host(text)
        except ValueError:
            continue
    return ""


def retired(host: str, now: float) -> str:
    """Who retired it and when; "" when nobody did."""
    label = HostLabel.objects.filter(host__address=host, label="retired").first()
    if label is None:
        return ""
    since = f"since {label.at:%Y-%m-%d %H:%M} UTC ({ago(label.at.timestamp(), now)})"
    return (
        f"{host} is retired by {label.by} {since}: nothing is assigned to it. Clear that label in the admin to undo it."
    )


def waiting(host: str, now: float) -> str:
    """How long a box that nothing is assigned to has been asking; "" when it never did."""
    contact = BoxContact.objects.filter(host=host, known=False).first()
    if contact is None:
        return ""
    asked = f"asked {count(contact.count, 'time')}, last {ago(contact.last_at, now)}"
    why = f"it presented the fleet key and nothing is assigned to it ({asked})"
    return f"{host} waits for approval: {why}. Approve it on /models."
