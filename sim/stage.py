"""Where the demo plays: how time passes, what ends it, and the folder that it has to itself."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sim.child import Child
from sim.terminal import Terminal

LOCK_PATIENCE_S = 12.0


class Stopped(Exception):
    """A signal came, or the terminal is gone."""


class Failed(Exception):
    """The demo cannot go on; the message says why."""


class Stage:
    """What ends the story: a signal, a closed terminal, or the end of llmao. Its `pause` is the only way that time
    passes here."""

    def __init__(self) -> None:
        self._told = threading.Event()
        self._terminal = Terminal()
        self.llmao: Child | None = None
        self._began = time.monotonic()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda *_: self._told.set())

    def pause(self, seconds: float) -> None:
        """Raises Stopped after a signal or without the terminal, Failed when llmao has ended by itself."""
        deadline = time.monotonic() + seconds
        while True:
            if self._told.wait(min(0.5, max(0.0, deadline - time.monotonic()))) or self._terminal.gone():
                raise Stopped
            if self.llmao is not None and self.llmao.ended is not None:
                raise Failed(f"llmao ended by itself; its last words:\n{self.llmao.last_words()}")
            if time.monotonic() >= deadline:
                return

    def say(self, sentence: str) -> None:
        """One line with the time since the start. A closed terminal is no reason to end half-way."""
        seconds = int(time.monotonic() - self._began)
        try:
            print(f"{seconds // 60}:{seconds % 60:02d}  {sentence}", flush=True)
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


# -- the folder


@contextmanager
def own_folder(folder: Path) -> Iterator[None]:
    """`folder`, empty, and for this demo alone. Failed when another demo or an `up` runs on it."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with (folder / "demo.lock").open("w") as ours, (folder / "up.lock").open("a") as theirs:
        deadline = time.monotonic() + LOCK_PATIENCE_S
        # An `up` whose demo was killed needs a few seconds to end what it started.
        while not (_locked(ours.fileno()) and _locked(theirs.fileno())):
            if time.monotonic() > deadline:
                raise Failed(f"a demo runs already in {folder}; stop that one first")
            time.sleep(0.2)
        _empty(folder)
        fcntl.flock(theirs.fileno(), fcntl.LOCK_UN)
        yield


def _locked(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _empty(folder: Path) -> None:
    for each in folder.iterdir():
        if each.suffix == ".lock":
            continue
        shutil.rmtree(each) if each.is_dir() and not each.is_symlink() else each.unlink()
