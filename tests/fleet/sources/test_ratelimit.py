from __future__ import annotations

import pytest
from multidict import CIMultiDict

from fleet.sources.ratelimit import MOST_S, UNTOLD_S, wait_s
from litellm_sync.http import Answer

NOW = 1_796_040_000.0  # Mon, 30 Nov 2026 12:00:00 GMT


def wait(status: int = 200, *limits: str, **headers: str) -> float:
    """`limits` are RateLimit headers, of which there may be several."""
    told = CIMultiDict((name.replace("_", "-"), value) for name, value in headers.items())
    for limit in limits:
        told.add("ratelimit", limit)
    return wait_s(Answer(status, told, b"", 0.0), NOW)


@pytest.mark.parametrize(
    ("limits", "seconds"),
    [
        ([], 0),
        (['"minute";r=59;t=12'], 0),
        (['"minute";r=0;t=12'], 12),
        (['"minute";r=0;t=12, "hour";r=2800;t=1812'], 12),
        (['"minute";r=0;t=12, "hour";r=0;t=1812, "day";r=5;t=40000'], 1812),
        (['"minute";r=0;t=12', '"hour";r=0;t=1812'], 1812),
        (['"minute" ; r=0 ; t=12.5'], 12.5),
        (['"minute";t=12;r=0'], 12),
        (['"minute";r=-1;t=12'], 12),
        (['"minute";r=0'], 0),
        (['"minute";r=0;t=soon'], 0),
        (['"minute";r=0;t=-5'], 0),
        (['"minute";r=0;t=1e300'], MOST_S),
        (["", ";;,,=;r="], 0),
    ],
    ids=str,
)
def test_it_waits_for_the_longest_window_that_is_used_up(limits: list[str], seconds: float) -> None:
    assert wait(200, *limits) == seconds


@pytest.mark.parametrize(
    ("status", "header", "seconds"),
    [
        (429, "30", 30),
        (503, "30", 30),
        (200, "30", 0),
        (429, " 7.5 ", 7.5),
        (429, "Mon, 30 Nov 2026 12:00:40 GMT", 40),
        (429, "Mon, 30 Nov 2026 11:00:00 GMT", UNTOLD_S),
        (429, "a while", UNTOLD_S),
        (429, "0", UNTOLD_S),
    ],
)
def test_it_heeds_retry_after_on_a_refusal(status: int, header: str, seconds: float) -> None:
    assert wait(status, Retry_After=header) == seconds


def test_it_reads_a_date_by_the_clock_that_wrote_it() -> None:
    told = {"Retry_After": "Mon, 30 Nov 2026 09:00:20 GMT", "Date": "Mon, 30 Nov 2026 09:00:00 GMT"}
    assert wait(429, **told) == 20


def test_it_waits_for_the_longer_of_the_two() -> None:
    assert wait(429, '"minute";r=0;t=12', Retry_After="30") == 30
    assert wait(429, '"hour";r=0;t=1812', Retry_After="30") == 1812


def test_it_waits_a_minute_after_a_429_that_does_not_say() -> None:
    assert (wait(429), wait(503), wait(200)) == (UNTOLD_S, 0, 0)
