"""Keeps the programs of `manage.py up` running, and leaves none behind: one process group each, ended as a whole.

Three things end them: a signal to `up`, or the end of its terminal (they are asked, waited for, then killed, within
10 s); the death of `up` itself (`fleet.watchdog`, and on Linux the kernel's parent-death signal); their own end (they
are started again, later each time).
"""

import contextlib
import ctypes
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fleet import watchdog
from fleet.terminal import Terminal

ASK_S = 6.0  # how long a program may take to end by itself
LAST_ASK_S = 2.0  # the same for the broker, which has nothing to finish
FIRST_DELAY_S, LAST_DELAY_S, STEADY_S = 1.0, 30.0, 60.0
PR_SET_PDEATHSIG = 1

Say = Callable[[str], None]


@dataclass(frozen=True)
class Program:
    """One thing to keep running. `last`: the others need it, so it is ended after them. `fds` stay open in it."""

    name: str
    argv: Sequence[str]
    last: bool = False
    fds: tuple[int, ...] = ()


@dataclass
class Running:
    program: Program
    process: "subprocess.Popen[bytes] | None" = None
    started_at: float = 0.0
    due_at: float = 0.0
    delay_s: float = FIRST_DELAY_S


class Watchdog:
    """Our end of `fleet.watchdog`: a pipe whose closing tells it that we are gone."""

    def __init__(self, lock_fd: int) -> None:
        self._lock_fd = lock_fd
        self._start()

    def _start(self) -> None:
        reading, self.fd = os.pipe()
        argv = [sys.executable, "-I", str(Path(watchdog.__file__))]
        self.process = subprocess.Popen(
            argv, stdin=reading, start_new_session=True, pass_fds=(self._lock_fd,), cwd="/", stdout=subprocess.DEVNULL
        )
        os.close(reading)

    def tell(self, line: str) -> None:
        """`+pgid` or `-pgid`. A watchdog that was killed hears nothing, and `renew` notices."""
        with contextlib.suppress(BrokenPipeError):
            os.write(self.fd, f"{line}\n".encode())

    def renew(self, groups: Sequence[int]) -> None:
        """Starts another one when somebody killed it."""
        if self.process.poll() is None:
            return
        os.close(self.fd)
        self._start()
        for group in groups:
            self.tell(f"+{group}")

    def release(self) -> None:
        """Nothing is left: it may go."""
        os.close(self.fd)
        self.process.wait(timeout=watchdog.PATIENCE_S + 5)


def _parent_death_signal() -> Callable[[], None]:
    """What a child calls so that it is asked to end when we die. Looked up before the fork, where that is safe."""
    if not sys.platform.startswith("linux"):
        return lambda: None
    prctl = ctypes.CDLL(None).prctl
    return lambda: prctl(PR_SET_PDEATHSIG, int(signal.SIGTERM), 0, 0, 0)


@dataclass
class Supervisor:
    """Starts programs, keeps them running until a signal, ends them."""

    say: Say
    watchdog: Watchdog
    cwd: Path
    env: dict[str, str]
    programs: list[Running] = field(default_factory=list)
    signals: int = 0

    def __post_init__(self) -> None:
        self._die_with_parent = _parent_death_signal()
        self._terminal = Terminal()
        self._wake, waking = os.pipe()
        os.set_blocking(self._wake, False)
        os.set_blocking(waking, False)
        signal.set_wakeup_fd(waking, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)  # only to wake `wait`
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            if signal.getsignal(number) is not signal.SIG_IGN:  # nohup, and shells that start us in the background
                signal.signal(number, self._stop)
        signal.signal(signal.SIGTERM, self._stop)

    def _stop(self, *_: object) -> None:
        self.signals += 1

    def wait(self, timeout_s: float) -> None:
        """Sleeps until a signal, a child's end, or the time. A terminal that is gone counts as one signal."""
        if select.select([self._wake], [], [], timeout_s)[0]:
            os.read(self._wake, 4096)
        if self._terminal.gone():
            self.signals = max(self.signals, 1)

    # --- starting ---------------------------------------------------------------------------------------------

    def start(self, program: Program) -> None:
        running = Running(program)
        self.programs.append(running)
        self._launch(running)

    def _launch(self, running: Running) -> None:
        program, parent = running.program, os.getpid()

        def before_exec() -> None:
            # Announced from inside, so that there is no moment in which it runs and the watchdog does not know.
            self.watchdog.tell(f"+{os.getpid()}")
            self._die_with_parent()
            if os.getppid() != parent:
                os._exit(1)

        running.started_at = time.monotonic()
        running.process = subprocess.Popen(
            program.argv, cwd=self.cwd, env=self.env, stdin=subprocess.DEVNULL, start_new_session=True,
            pass_fds=program.fds, preexec_fn=before_exec,  # noqa: PLW1509 - `up` has one thread
        )  # fmt: skip

    # --- keeping ----------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Keeps everything running until somebody sends a signal or the terminal is closed."""
        while not self.signals:
            self.look()
            self.wait(0.5)

    def look(self) -> None:
        """One look at each program: notices what ended, starts again what is due."""
        self.watchdog.renew([each.process.pid for each in self.programs if each.process])
        for running in self.programs:
            if running.process and running.process.poll() is not None:
                self._mourn(running, running.process)
            elif not running.process and time.monotonic() >= running.due_at:
                self._launch(running)

    def _mourn(self, running: Running, process: "subprocess.Popen[bytes]") -> None:
        self._bury(running, process)
        if time.monotonic() - running.started_at >= STEADY_S:
            running.delay_s = FIRST_DELAY_S
        running.due_at = time.monotonic() + running.delay_s
        how = f"exit status {process.returncode}" if process.returncode >= 0 else f"signal {-process.returncode}"
        self.say(f"{running.program.name} ended ({how}); starting it again in {running.delay_s:.0f} s")
        running.delay_s = min(running.delay_s * 2, LAST_DELAY_S)

    def _bury(self, running: Running, process: "subprocess.Popen[bytes]") -> None:
        watchdog.send(process.pid, signal.SIGKILL)  # what it left of its group
        self.watchdog.tell(f"-{process.pid}")
        running.process = None

    # --- ending -----------------------------------------------------------------------------------------------

    def stop(self) -> None:
        """Ends everything, the broker last; returns when no process of ours is left."""
        self._end([each for each in self.programs if not each.program.last], ASK_S)
        self._end([each for each in self.programs if each.program.last], LAST_ASK_S)
        self.watchdog.release()

    def _end(self, programs: list[Running], patience_s: float) -> None:
        deadline, signals = time.monotonic() + patience_s, self.signals
        for each in programs:
            if each.process and each.process.poll() is None:
                each.process.terminate()
        while any(each.process for each in programs):
            # A second Ctrl-C means now.
            late = time.monotonic() >= deadline or self.signals > max(signals, 1)
            for each in programs:
                self._reap(each, late)
            self.wait(0.1)

    def _reap(self, running: Running, late: bool) -> None:
        process = running.process
        if process and late:
            watchdog.send(process.pid, signal.SIGKILL)
            process.wait(timeout=5)
        if process and process.poll() is not None:
            self._bury(running, process)
