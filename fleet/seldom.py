"""Log lines that would come with every poll of a box, once an hour; and Django's own about them, not at all."""

from __future__ import annotations

import logging
import time
from collections import OrderedDict
from threading import Lock

EVERY_S = 3600.0
OURS = (400, 401, 404)  # the answers that `fleet.boxes` writes a line about
MOST = 1000  # hosts that are remembered; who holds the fleet key may claim any number of them

_lock = Lock()
_said: OrderedDict[tuple[str, ...], float] = OrderedDict()  # what was said -> when, oldest first


def due(*what: str) -> bool:
    """Whether this process has not said `what` within the last hour; asking counts as saying."""
    now = time.monotonic()
    with _lock:
        at = _said.get(what)
        if at is not None and now - at < EVERY_S:
            return False
        _said[what] = now
        _said.move_to_end(what)
        while len(_said) > MOST:
            _said.popitem(last=False)
        return True


def forget() -> None:
    """As after a start."""
    with _lock:
        _said.clear()


class ButBoxes(logging.Filter):
    """Drops Django's line about a request for /vllm/config that was refused: `fleet.boxes` has its own, with the
    host."""

    def filter(self, record: logging.LogRecord) -> bool:
        path = getattr(getattr(record, "request", None), "path", "")
        return not (path == "/vllm/config" and getattr(record, "status_code", 0) in OURS)
