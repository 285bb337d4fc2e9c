"""Several processes on one database: real ones, which run the real loop against LiteLLM's stand-in, one of them killed,
one too slow, one of another configuration, one whose clock is wrong. On the database of the suite, whichever it is."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec
import pytest
import yaml
from django.db import connection

from fleet import clock, cycle, fetching, passes, snapshots
from fleet.keys import derive_key
from fleet.models import ActionLog, Attempt, Event, Lease, Memory, Pass, SourceState
from reconcile.history import History
from reconcile.inputs import Probes
from sim.background import LoopThread
from sim.litellm import Call
from sim.litellm.faults import Fault
from sim.vllm import VLLM, Listener
from tests.fleet.one_process import HOUR_S, Done, Words
from tests.site.running import ROOT, until

from .loop import Fleet

pytestmark = pytest.mark.django_db(transaction=True)
PATIENCE_S = 60.0


class Process:
    """One process of llmao, on the test's database and the configuration in a folder."""

    def __init__(self, folder: Path, words: Words) -> None:
        config = {"LLMAO_CONFIG": str(folder / "config.yaml"), "DATABASE_URL": database_url()}
        self._child = subprocess.Popen(
            [sys.executable, "-m", "tests.fleet.one_process", msgspec.json.encode(words).decode()],
            cwd=ROOT,
            env={**os.environ, **config},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def go(self) -> None:
        """Let it run, once it is ready."""
        assert self._child.stdin and self._child.stdout
        assert self._child.stdout.readline() == "ready\n"
        self._child.stdin.write("go\n")
        self._child.stdin.flush()

    def done(self) -> Done:
        """Let it finish what it does; what it did."""
        said, _ = self._child.communicate(timeout=PATIENCE_S)
        assert self._child.returncode == 0
        return msgspec.json.decode(said, type=Done)

    def has_ended(self) -> bool:
        return self._child.poll() is not None

    def kill(self) -> None:
        self._child.send_signal(signal.SIGKILL)
        self._child.communicate(timeout=PATIENCE_S)


Start = Callable[..., Process]


def database_url() -> str:
    """The test's own database, for a process that is told of it by DATABASE_URL."""
    told = connection.settings_dict
    if connection.vendor == "sqlite":
        return f"sqlite:///{told['NAME']}"
    user = quote(told["USER"], safe="") + (f":{quote(told['PASSWORD'], safe='')}" if told["PASSWORD"] else "")
    return f"postgresql://{user}@{told['HOST']}:{told['PORT'] or 5432}/{told['NAME']}"


@pytest.fixture
def start(fleet: Fleet) -> Iterator[Start]:
    """Starts a process; whatever is left at the end of the test is killed."""
    started: list[Process] = []

    def one(folder: Path | None = None, **words: Any) -> Process:
        started.append(Process(folder or fleet.folder, Words(**words)))
        return started[-1]

    yield one
    for process in started:
        process.kill()


def boxes(fleet: Fleet, count: int, **policy: Any) -> None:
    fleet.hosts = count
    fleet.configure(**policy)
    fleet.probed()


def creates(fleet: Fleet) -> list[Call]:
    return [call for call in fleet.litellm.writes if call.path == "/model/new"]


def overlaps(*done: Done) -> list[Any]:
    spans = sorted(span for each in done for span in each.held)
    return [(one, two) for one, two in pairwise(spans) if two[0] < one[1]]


def items() -> list[str]:
    shown = passes.latest()
    assert shown is not None
    return [item.kind for item in shown.plan.items]


def history() -> History:
    return snapshots.unpack(Memory.objects.get(name="history").body, History)


# --- one at a time --------------------------------------------------------------------------------------------


def test_it_decides_and_writes_in_one_process_at_a_time(fleet: Fleet, start: Start) -> None:
    boxes(fleet, 20, actions_per_pass=2)
    fleet.litellm.faults.append(Fault("/model/new", "POST", delay_s=0.05))
    several = [start(rounds=1) for _ in range(3)]
    for process in several:
        process.go()
    until(lambda: len(fleet.litellm.rows()) == 20 and Pass.objects.count() > 20, "every box has its row", PATIENCE_S)
    done = [process.done() for process in several]
    assert overlaps(*done) == []
    assert sum(bool(each.passes) for each in done) >= 2, "the lease went from one to another"
    assert len(creates(fleet)) == len(fleet.litellm.writes) == 20, "each was written once"
    assert Attempt.objects.filter(answer="ok").count() == ActionLog.objects.count() == 20
    assert Event.objects.filter(what="appeared").count() == 20, "and noted once"


@pytest.mark.parametrize("saved", [True, False], ids=["saved", "not saved"])
def test_it_goes_on_where_a_process_was_killed_among_its_writes(fleet: Fleet, start: Start, saved: bool) -> None:
    fleet.timeout_s = 30
    boxes(fleet, 6)
    heir, killed = start(), start(term_s=3)
    two, third = Fault("/model/new", "POST", times=2), Fault("/model/new", "POST", after=saved, delay_s=90, times=1)
    fleet.litellm.faults += [two, third]
    killed.go()
    until(lambda: third.times == 0 and len(fleet.litellm.rows()) == 2 + saved, "the third was sent", PATIENCE_S)
    killed.kill()
    (pending,) = Attempt.objects.filter(answer="pending")
    fleet.litellm.router.rows.pop(pending.deployment_id, None)  # the replica that is asked next does not list it yet
    held_until = Lease.objects.get().until
    heir.go()
    until(lambda: Attempt.objects.filter(answer="ok").count() == 6, "all are written", PATIENCE_S)
    done = heir.done()
    assert done.took_at is not None and done.took_at >= held_until
    assert len(fleet.litellm.rows()) == 6
    before, after = fleet.litellm.writes[:2], fleet.litellm.writes[-5 + saved :]
    assert [(call.path, call.status) for call in before] == [("/model/new", 200)] * 2
    finished = [(f"/model/{pending.deployment_id}/update", 200 if saved else 404)]
    new = [("/model/new", 200)] * (3 if saved else 4)
    assert [(call.path, call.status) for call in after] == finished + new, "the open one first, and no row twice"
    assert ActionLog.objects.filter(deployment_id=pending.deployment_id).count() == 2


def test_it_stores_and_sends_nothing_of_a_pass_that_outlasts_the_lease(fleet: Fleet, start: Start) -> None:
    boxes(fleet, 3)
    slow, quick = start(term_s=1, pass_takes_s=5, runs=1), start(runs=20)
    slow.go()
    until(lambda: Lease.objects.exclude(holder="").exists(), "the slow one decides", PATIENCE_S)
    quick.go()
    until(slow.has_ended, "the slow one came to an end", PATIENCE_S)
    late, done = slow.done(), quick.done()
    assert late.passes == [0]
    assert late.held[0][0] < done.held[0][0] < late.held[0][1], "the other took over while it still decided"
    assert Pass.objects.count() == sum(done.passes) and done.passes[0] > 0
    assert len(creates(fleet)) == len(fleet.litellm.writes) == 3
    newest = Pass.objects.latest("id")
    assert history().passed_at == newest.at


# --- two control planes ---------------------------------------------------------------------------------------


def test_it_starts_cautious_when_two_configurations_take_turns(fleet: Fleet, start: Start, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "models.yaml").write_text((fleet.folder / "models.yaml").read_text())
    (other / "config.yaml").write_text((fleet.folder / "config.yaml").read_text().replace("203.0.113.", "198.51.100."))
    cycle.run()
    before = len(fleet.litellm.writes)
    both = [start(), start(other)]
    for process in both:
        process.go()
    until(lambda: Lease.objects.filter(two_configurations_at__gt=0).exists(), "they took turns", PATIENCE_S)
    number = Pass.objects.latest("id").id
    until(lambda: Pass.objects.latest("id").id > number + 4, "and decided after that", PATIENCE_S)
    done = [process.done() for process in both]
    assert overlaps(*done) == []
    assert all(each.passes for each in done)
    assert "two_configurations" in items()
    assert history().began_at == history().passed_at, "nothing is remembered from one to the other"
    assert len(fleet.litellm.writes) == before, "so no row of the other's boxes goes"


# --- clocks ---------------------------------------------------------------------------------------------------


@pytest.fixture
def box() -> Iterator[Listener]:
    with LoopThread("box") as background:
        listener = Listener(VLLM("tiny", "Example/Tiny-1B", ""), "127.0.0.1")
        background.run(listener.open())
        listener.server.api_key = derive_key("salt", "127.0.0.1", listener.port)
        yield listener
        background.run(listener.close())


def test_it_does_nothing_by_a_clock_that_is_an_hour_ahead(fleet: Fleet, start: Start, box: Listener) -> None:
    path = fleet.folder / "config.yaml"
    config = yaml.safe_load(path.read_text())
    config["fleet"] |= {"hosts": {"127.0.0.1": [["tiny", box.port]]}, "allow_private_hosts": True}
    path.write_text(yaml.safe_dump(config))
    sources = ("intended", "boxes", "vllm", "deployments", "attempts")
    _read_and_decide(sources)
    began_at, written = history().began_at, len(fleet.litellm.writes)
    assert written == 1 and items() == []
    ahead = start(fetch=sources, clock_ahead_s=HOUR_S)
    ahead.go()
    number = Pass.objects.latest("id").id
    until(lambda: Pass.objects.latest("id").id > number + 3, "it decided some times", PATIENCE_S)
    done, now = ahead.done(), clock.now()
    assert done.passes and done.took_at is not None and done.took_at <= now
    shown = passes.latest()
    assert shown is not None and [record.lifecycle for record in shown.view.records] == ["Healthy"]
    assert {source.state for source in shown.view.sources} <= {"fresh", "unread"} and items() == []
    assert (history().began_at, len(fleet.litellm.writes)) == (began_at, written)
    probes = snapshots.latest("vllm", Probes)
    times: list[float | None] = [
        shown.at,
        *SourceState.objects.exclude(taken_at=None).values_list("taken_at", flat=True),
    ]
    times += [each.at for each in probes.probes] if probes else []
    assert all(at and now - PATIENCE_S < at <= now for at in times) and len(times) == 7
    _read_and_decide(sources)
    assert len(fleet.litellm.writes) == written, "nor does anybody who comes after it"


def _read_and_decide(sources: tuple[str, ...]) -> None:
    """Twice: who is to be probed is known after the first pass."""
    for _ in range(2):
        for source in sources:
            fetching.fetch(source, waking=False)
        cycle.run()
