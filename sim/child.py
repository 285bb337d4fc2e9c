"""A program of ours that ends when we do, whatever ends us."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

_PR_SET_PDEATHSIG = 1


def end_with_parent() -> Callable[[], None]:
    """For preexec_fn: on Linux the kernel asks the child to end when the thread that started it is gone.

    Looked up here, before the fork, where that is safe. Elsewhere it does nothing.
    """
    if sys.platform != "linux":
        return lambda: None
    prctl = ctypes.CDLL(None).prctl
    return lambda: prctl(_PR_SET_PDEATHSIG, int(signal.SIGTERM), 0, 0, 0)


class Child:
    """One process in a session of its own: a Ctrl-C in the terminal reaches us, and we end it in our order."""

    def __init__(self, command: Sequence[str], *, cwd: Path, env: Mapping[str, str], log: Path) -> None:
        self.log = log
        with log.open("ab") as out:
            self._process = subprocess.Popen(
                command,
                cwd=cwd,
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
                preexec_fn=end_with_parent(),  # noqa: PLW1509  # one C call, looked up before
            )

    @property
    def ended(self) -> int | None:
        """Its exit status, None while it runs."""
        return self._process.poll()

    def last_words(self, lines: int = 15) -> str:
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])

    def stop(self, patience_s: float) -> None:
        """Ask it, wait, then kill what is left of its session."""
        if self.ended is None:
            self._process.terminate()
        try:
            self._process.wait(patience_s)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
