"""What every test of the decision may count on."""

import logging
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def quiet_hands() -> Iterator[None]:
    """A living world lets thousands of writes fail; a line for each would bury what is wrong."""
    log = logging.getLogger("litellm_sync.executor")
    level = log.level
    log.setLevel(logging.CRITICAL)
    yield
    log.setLevel(level)
