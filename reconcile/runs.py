"""Runs of readings (decision-table C): a burst of extra fetches cannot turn minutes into seconds."""

from __future__ import annotations

from reconcile.history import Run

SPAN = 0.9  # of (N - 1) intervals: clocks jitter, but N readings must really be N clocks apart


def grown(run: Run | None, at: float) -> Run:
    """The run with one more reading, taken at `at`."""
    return Run(run.n + 1, run.first, at) if run else Run(1, at, at)


def long_enough(run: Run | None, readings: int, interval_s: float) -> bool:
    """Whether the run has N readings that span at least 0.9·(N−1) intervals of their source."""
    return run is not None and run.n >= readings and run.last - run.first >= SPAN * (readings - 1) * interval_s
