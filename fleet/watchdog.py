"""What outlives `manage.py up` for a few seconds: it ends the process groups that a killed `up` can no longer end.

Run as a plain script with nothing but the standard library, so that it stays small. On stdin come lines `+<pgid>` and
`-<pgid>`; the end of stdin means that `up` is gone. It inherits the lock on the data folder and so keeps it until the
last group is gone: a new `up` cannot start beside what is left of the old one.
"""

import os
import signal
import sys
import time

PATIENCE_S = 5.0


def groups_left_behind(lines: list[str]) -> set[int]:
    """The process groups that were announced and not taken back."""
    groups: set[int] = set()
    for line in lines:
        change, group = line[:1], line[1:].strip()
        if group.isdecimal():
            (groups.add if change == "+" else groups.discard)(int(group))
    return groups


def send(group: int, number: int) -> bool:
    """Signals a group; False when nobody is left in it."""
    try:
        os.killpg(group, number)
    except ProcessLookupError:
        return False
    except PermissionError:  # macOS says so of a group of zombies
        return False
    return True


def end(groups: set[int], patience_s: float = PATIENCE_S) -> None:
    """Asks every group to end, waits, then ends it."""
    left = {group for group in groups if send(group, signal.SIGTERM)}
    deadline = time.monotonic() + patience_s
    while left and time.monotonic() < deadline:
        time.sleep(0.1)
        left = {group for group in left if send(group, 0)}
    for group in left:
        send(group, signal.SIGKILL)


def main() -> None:
    """Waits for the end of stdin, then ends what was left behind."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    end(groups_left_behind(sys.stdin.readlines()))


if __name__ == "__main__":
    main()
