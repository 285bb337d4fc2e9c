"""A closed terminal whose session leader keeps the hangup to itself: `make`, or a shell that ignores it."""

import fcntl
import os
import pty
import re
import shlex
import subprocess
import sys
import termios
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.site.running import ROOT, command, configured, environment, processes, until

UP = command("up", "--port", "0", "--concurrency", "1")
DEMO = [sys.executable, "-m", "sim.demo", "--port", "0", "--pace", "0.05"]


def led_by_make(folder: Path, words: list[str]) -> list[str]:
    makefile = folder / "Makefile"
    makefile.write_text(f"run:\n\t@exec {shlex.join(words)}\n")
    return ["make", "--no-print-directory", "--file", str(makefile), "run"]


def led_by_shell(_folder: Path, words: list[str]) -> list[str]:
    return ["sh", "-c", f'trap "" HUP; {shlex.join(words)}; true']


@contextmanager
def in_terminal(words: list[str], env: dict[str, str], var: Path) -> Iterator[int]:
    """Runs `words` as the session leader of a new terminal; our end of it, which the test closes."""
    ours, theirs = pty.openpty()

    def take_terminal() -> None:
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    leader = subprocess.Popen(
        words, cwd=ROOT, env=env, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
        preexec_fn=take_terminal,  # noqa: PLW1509 - one C call
    )  # fmt: skip
    os.close(theirs)
    try:
        yield ours
        leader.wait(timeout=15)
    finally:
        if leader.poll() is None:
            leader.kill()
            leader.wait()
        for line in processes(var):
            os.kill(int(line.split()[0]), 9)


def until_said(terminal: int, pattern: str) -> None:
    """Reads what it says until it says so; fails when it ends before."""
    said = ""
    while not re.search(pattern, said):
        said += os.read(terminal, 4096).decode(errors="replace")


@pytest.mark.parametrize("led", [led_by_make, led_by_shell])
def test_it_ends_with_its_terminal_though_nobody_passes_the_hangup_on(
    led: Callable[[Path, list[str]], list[str]], tmp_path: Path
) -> None:
    var = configured(tmp_path / "var")
    with in_terminal(led(tmp_path, UP), environment(var), var) as terminal:
        until_said(terminal, "llmao is at http")
        until(lambda: len(processes(var)) >= 8, "everything runs")
        os.close(terminal)
        until(lambda: not processes(var), f"nothing is left: {processes(var)}", 10)


def test_it_ends_the_demo_with_its_terminal_though_make_keeps_the_hangup(tmp_path: Path) -> None:
    env = {**os.environ, "LLMAO_VAR": str(tmp_path)}
    with in_terminal(led_by_make(tmp_path, DEMO), env, tmp_path / "demo") as terminal:
        until_said(terminal, "sign in as admin")
        assert processes(tmp_path / "demo")
        os.close(terminal)
        until(lambda: not processes(tmp_path / "demo"), f"nothing is left: {processes(tmp_path / 'demo')}", 10)


LOOKS = """
import os, sys, time
from {module} import Terminal

terminal = Terminal()
print(terminal.gone(), flush=True)
os.dup2(os.open("/dev/null", os.O_WRONLY), 1)
sys.stdin.readline()
end = time.monotonic() + 10
while not terminal.gone() and time.monotonic() < end:
    time.sleep(0.05)
open(sys.argv[1], "w").write(str(terminal.gone()))
"""


@pytest.mark.parametrize("module", ["fleet.terminal", "sim.terminal"])
def test_it_notices_although_its_output_was_redirected_since(module: str, tmp_path: Path) -> None:
    """stdin and stderr are no terminal, and stdout is only at first."""
    ours, theirs = pty.openpty()
    told = tmp_path / "told"
    with subprocess.Popen(
        [sys.executable, "-c", LOOKS.format(module=module), str(told)], cwd=ROOT, stdin=subprocess.PIPE, stdout=theirs,
        stderr=subprocess.DEVNULL,
    ) as process:  # fmt: skip
        os.close(theirs)
        until_said(ours, "False\r\n")
        os.close(ours)
        process.communicate(b"\n", timeout=20)
    assert told.read_text() == "True"


def test_it_is_never_gone_where_there_is_none() -> None:
    asks = "from fleet.terminal import Terminal; print(Terminal().gone())"
    said = subprocess.run(
        [sys.executable, "-c", asks], cwd=ROOT, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=True
    )
    assert said.stdout == "False\n"
