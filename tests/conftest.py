"""What tests of several packages share."""

import signal
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="module")
def terminal_signals() -> Iterator[None]:
    """What is started now hears Ctrl-C and a hangup, as in a terminal. A test run in the background, or under nohup,
    ignores them, what it starts inherits that, and llmao heeds it: that is what nohup is for."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGHUP)}
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)
