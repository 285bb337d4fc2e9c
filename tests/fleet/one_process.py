"""A process of its own that runs the real loop, for tests of several: `python -m tests.fleet.one_process WORDS`.

It says "ready", waits for a line, and then runs the loop again and again until its input is closed. WORDS is JSON, see
`Words`. What it did is one line of JSON at its end, see `Done`.
"""

from __future__ import annotations

import sys
import threading
import time
from typing import Any

import msgspec

HOUR_S = 3600.0


class Words(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """`term_s` of the lease; `runs` of the loop that held it, at most; `rounds` of one run at most; `pass_takes_s` that
    deciding takes; `fetch` the sources read before each run; `clock_ahead_s` by which this process's clock is ahead."""

    term_s: float = 60.0
    runs: int = 1_000_000
    rounds: int = 200
    pass_takes_s: float = 0.0
    fetch: tuple[str, ...] = ()
    clock_ahead_s: float = 0.0


class Done(msgspec.Struct, kw_only=True):
    """`passes` stored by each run that held the lease; `held` from when to when it was held (monotonic clock, which is
    one for all processes of a machine); `took_at` the database's time when it was first taken."""

    passes: list[int] = []
    held: list[tuple[float, float]] = []
    took_at: float | None = None


def main() -> None:
    words = msgspec.json.decode(sys.argv[1], type=Words)
    if words.clock_ahead_s:
        _set_clock_ahead(words.clock_ahead_s)
    import django

    django.setup()
    done = _prepared(words)
    print("ready", flush=True)
    sys.stdin.readline()
    ended = threading.Event()
    threading.Thread(target=_wait_for_end, args=(ended,), daemon=True).start()
    _run(words, done, ended)
    print(msgspec.json.encode(done).decode(), flush=True)


def _wait_for_end(ended: threading.Event) -> None:
    sys.stdin.read()
    ended.set()


def _set_clock_ahead(by_s: float) -> None:
    """Every clock of this process that tells the time of day; the database's is another's."""
    real, real_ns = time.time, time.time_ns
    time.time = lambda: real() + by_s
    time.time_ns = lambda: real_ns() + int(by_s * 1e9)
    from datetime import timedelta

    from django.utils import timezone

    now = timezone.now
    timezone.now = lambda: now() + timedelta(seconds=by_s)


def _prepared(words: Words) -> Done:
    """The loop as the words have it, noting in `Done` what it does."""
    from fleet import clock, cycle, lease
    from reconcile.decide import reconcile

    done = Done()
    lease.TERM_S, cycle.MOST_ROUNDS = words.term_s, words.rounds
    take, drop, give_back = lease.take, lease.Held.drop, lease.Held.give_back
    since: list[float] = []  # while it is held

    def taken(config_hash: str) -> lease.Held | None:
        held = take(config_hash)
        if held is not None:
            since.append(time.monotonic())
            done.took_at = done.took_at or clock.now()
        return held

    def dropped(held: lease.Held) -> None:
        if since:
            done.held.append((since.pop(), time.monotonic()))
        drop(held)

    def given_back(held: lease.Held, seen: int) -> bool:
        until = time.monotonic()  # for certain: what follows may let another process in
        given = give_back(held, seen)
        if given:
            done.held.append((since.pop(), until))
        return given

    def decided(*inputs: Any) -> Any:
        decision = reconcile(*inputs)
        time.sleep(words.pass_takes_s)
        return decision

    for module, name, replacement in (
        (lease, "take", taken),
        (lease.Held, "drop", dropped),
        (lease.Held, "give_back", given_back),
        (cycle, "reconcile", decided),
    ):
        setattr(module, name, replacement)
    return done


def _run(words: Words, done: Done, ended: threading.Event) -> None:
    from fleet import cycle, fetching, lease

    while len(done.passes) < words.runs and not ended.is_set():
        for source in words.fetch:
            fetching.fetch(source, waking=False)
        lease.count_wake_up()
        before = len(done.held)
        stored = cycle.run()
        if len(done.held) > before:
            done.passes.append(stored)
        ended.wait(0.02)


if __name__ == "__main__":
    main()
