"""`make bench` prints these figures."""

import pytest

from bench import probe

pytestmark = pytest.mark.bench
CLOCK_S = 15.0


def test_it_probes_five_hundred_boxes_for_little_more_than_the_library_costs(
    capsys: pytest.CaptureFixture[str],
) -> None:
    figures = probe.measure()
    with capsys.disabled():
        print("\n" + "\n".join(figures.lines()))
    assert (figures.ours.well, figures.bare.well) == (probe.BOXES, probe.BOXES)
    assert figures.ours.clock_s < CLOCK_S / 3, "within one clock, with room to spare"
    assert figures.ratio <= probe.AIM
