"""When beat sends what: one `fleet.fetch` per source and the `fleet.tick`, at the intervals that config has now."""

import time
from datetime import timedelta
from typing import Any

from celery import Celery
from celery.beat import ScheduleEntry, Scheduler
from celery.schedules import schedule

from fleet import timing

REREAD_S = 1
# What is dearer than this is not sent at once when beat starts: a restart loop must not spend tokens.
DUE_AT_START_S = 300.0


def entry(app: Celery, name: str, interval_s: float) -> ScheduleEntry:
    """The line of one source, or of "tick"."""
    task, args = ("fleet.tick", ()) if name == "tick" else ("fleet.fetch", (name,))
    last = app.now() - timedelta(seconds=interval_s if interval_s <= DUE_AT_START_S else 0)
    return ScheduleEntry(
        name=name, task=task, args=args, schedule=every(app, interval_s), last_run_at=last, app=app,
        options={"expires": timing.MESSAGE_LIFE_S, "ignore_result": True},
    )  # fmt: skip


def every(app: Celery, interval_s: float) -> schedule:
    return schedule(timedelta(seconds=interval_s), app=app)


class Timetable(Scheduler):
    """A beat scheduler that keeps nothing on disk and follows edits of the intervals without a restart."""

    max_interval = REREAD_S

    def setup_schedule(self) -> None:
        self.data: dict[str, ScheduleEntry] = {}
        self._intervals: dict[str, float] = {}
        self.reread()

    def tick(self, *args: Any, **kwargs: Any) -> float:
        """Sends what is due; returns the seconds until the next look."""
        if time.monotonic() - self._read_at >= REREAD_S:
            self.reread()
        return float(super().tick(*args, **kwargs))

    def reread(self) -> None:
        """Takes over the intervals; a line whose interval stayed keeps its place in time."""
        self._read_at = time.monotonic()
        wanted = timing.intervals()
        for name in self._intervals.keys() - wanted.keys():
            del self.data[name]
        for name, interval_s in wanted.items():
            if self._intervals.get(name) != interval_s:
                self._write(name, interval_s)
        self._intervals = wanted

    def _write(self, name: str, interval_s: float) -> None:
        fresh = entry(self.app, name, interval_s)
        if old := self.data.get(name):
            fresh.last_run_at = old.last_run_at
        self.data[name] = fresh
