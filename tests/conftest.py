"""What every test may count on."""

import signal

import pytest


@pytest.fixture(autouse=True, scope="session")
def signals_as_a_terminal_has_them() -> None:
    """A run in the background, or under nohup, ignores Ctrl-C or a lost terminal, and so would every program that the
    tests start to end it with them."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
