"""Whether the terminal that a program was started on is still there.

A hangup is told to the terminal's session leader alone. Where that is a `make` or a shell that ignores it, the program
never hears of it, and would run on for nobody.
"""

import os
import select


class Terminal:
    """The terminal on stdin, stdout or stderr at the time of the call; without one, it is never gone."""

    def __init__(self) -> None:
        self._poll = select.poll()
        mine = next((fd for fd in (0, 1, 2) if os.isatty(fd)), None)
        if mine is not None:
            self._poll.register(os.dup(mine), 0)  # our own: whoever redirects stdout later does not blind us

    def gone(self) -> bool:
        """Whether it was closed. Asks the kernel, and waits for nothing."""
        return any(event & select.POLLHUP for _, event in self._poll.poll(0))
