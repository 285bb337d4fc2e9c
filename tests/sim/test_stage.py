from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from sim import stage
from sim.child import Child
from sim.stage import Failed, Stage, Stopped, own_folder

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
ROOT = Path(__file__).parent.parent.parent


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in SIGNALS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def _child(folder: Path, program: str) -> Child:
    return Child([sys.executable, "-c", program], cwd=ROOT, env={}, log=folder / "child.log")


@pytest.mark.parametrize("number", SIGNALS)
def test_it_ends_the_story_at_the_next_pause(number: signal.Signals) -> None:
    scene = Stage()
    scene.pause(0.0)
    signal.raise_signal(number)
    with pytest.raises(Stopped):
        scene.pause(60)


def test_it_fails_with_the_last_words_of_an_llmao_that_ended(tmp_path: Path) -> None:
    scene = Stage()
    scene.llmao = _child(tmp_path, "print('the database is full')")
    with pytest.raises(Failed, match="the database is full"):
        scene.pause(60)


def test_it_goes_on_without_its_terminal() -> None:
    """Python raises at the first line into a closed pipe; the stage must play to its end all the same."""
    program = "from sim.stage import Stage\nscene = Stage()\nfor n in range(3): scene.say('x' * 100000)\nprint('lost')"
    with subprocess.Popen([sys.executable, "-c", program], cwd=ROOT, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.wait(20) == 0


def test_it_empties_its_folder_but_for_the_locks(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "llmao.sqlite3").write_text("x")
    (tmp_path / "config.yaml").write_text("x")
    with own_folder(tmp_path):
        assert sorted(each.name for each in tmp_path.iterdir()) == ["demo.lock", "up.lock"]


def test_it_refuses_a_folder_that_another_demo_plays_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stage, "LOCK_PATIENCE_S", 0.1)
    with own_folder(tmp_path):
        (tmp_path / "config.yaml").write_text("theirs")
        with pytest.raises(Failed, match="a demo runs already in"), own_folder(tmp_path):
            pass
        assert (tmp_path / "config.yaml").read_text() == "theirs"


def test_it_kills_a_child_that_will_not_end(tmp_path: Path) -> None:
    child = _child(
        tmp_path, "import signal, time\nsignal.signal(15, signal.SIG_IGN)\nprint('deaf', flush=True)\ntime.sleep(60)"
    )
    while "deaf" not in child.last_words():
        time.sleep(0.02)
    child.stop(0.2)
    assert child.ended == -signal.SIGKILL


def test_it_takes_its_child_with_it_when_it_is_killed(tmp_path: Path) -> None:
    """Linux only: elsewhere a killed demo leaves llmao to be stopped by hand."""
    program = (
        "import sys, time\nfrom pathlib import Path\nfrom sim.child import Child\n"
        f"child = Child([sys.executable, '-c', 'import os, time; print(os.getpid(), flush=True); time.sleep(60)'],"
        f" cwd=Path('.'), env={{}}, log=Path({str(tmp_path / 'pid')!r}))\ntime.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", program], cwd=ROOT) as parent:
        log = tmp_path / "pid"
        while not (log.exists() and log.read_text().strip()):
            time.sleep(0.02)
        parent.kill()
    pid = int(log.read_text())
    deadline = time.monotonic() + 10
    while Path(f"/proc/{pid}").exists() and "Z" not in Path(f"/proc/{pid}/stat").read_text().split()[2]:
        assert time.monotonic() < deadline
        time.sleep(0.05)
