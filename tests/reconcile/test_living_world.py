"""The laws of decision-table H in living worlds: Hypothesis tells what happens, llmao works between, and each pass and
each write is held to the laws; at the end the world stands still, is repaired, and a box dies and returns.

`HYPOTHESIS_PROFILE=nightly` (or `make nightly`) runs 10,000 examples, other ones each time.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize

from reconcile.settings import Settings
from tests.reconcile.living import finale
from tests.reconcile.living.hands import OfLiteLLM, OfPeople, places
from tests.reconcile.living.happenings import MODELS, OfBoxes
from tests.reconcile.living.wishes import GPT, Wishes
from tests.reconcile.living.world import D, World

ALONE = "LLMAO_LIVING_WORLD"
ROOT = Path(__file__).parent.parent.parent
NIGHTLY = os.environ.get("HYPOTHESIS_PROFILE") == "nightly"


class LivingWorld(OfBoxes, OfLiteLLM, OfPeople):
    """A small fleet that has run for two minutes, and then whatever happens."""

    @initialize(
        wanted=st.sets(places, min_size=1, max_size=5),
        replicas=st.integers(min_value=1, max_value=3),
        bought=st.booleans(),
        providers=st.sampled_from((("vast", "runpod"), ("vast",), ("vast", "runpod"), ())),
        numbers=st.builds(
            Settings,
            health_fail_threshold=st.sampled_from((3, 3, 2, 1)),
            opinion_wait_s=st.sampled_from((60.0, 300.0)),
            keep_last_row=st.sampled_from((False, False, True)),
        ),
        stranger=st.booleans(),
    )
    def begins(  # noqa: PLR0917 - Hypothesis gives them by name
        self,
        wanted: set[tuple[str, int]],
        replicas: int,
        bought: bool,
        providers: tuple[str, ...],
        numbers: Settings,
        stranger: bool,
    ) -> None:
        wishes = Wishes(providers=providers, settings=numbers, bought={"gpt": GPT} if bought else {})
        self.world = World(wishes, replicas)
        for host, port in sorted(wanted):
            self.world.wish(host, port, MODELS[port % 2])
        for host in sorted({host for host, _ in wanted} | ({D} if stranger else set())):
            self.world.boot(self.world.rent(host))
        if stranger and not self.world.truth.on(D)[0].programs:
            self.world.serve(self.world.truth.on(D)[0], 8001, "small")
        with self.kept:
            self.world.pass_time(130)

    def teardown(self) -> None:
        """Only a world that kept the laws so far is asked how it ends."""
        if hasattr(self, "world") and not self.kept.broken:
            finale.stands_still(self.world)
            finale.ends_right(self.world)
            finale.one_dies_and_returns(self.world)


LivingWorld.TestCase.settings = settings(
    max_examples=10_000 if NIGHTLY else 300,
    stateful_step_count=16,
    derandomize=not NIGHTLY,
    database=None,
    deadline=None,
    print_blob=NIGHTLY,
    phases=[Phase.generate, Phase.shrink],
    suppress_health_check=list(HealthCheck),
)


if NIGHTLY or os.environ.get(ALONE):

    class TestLivingWorld(LivingWorld.TestCase):  # type: ignore[misc, valid-type]  # made at run time
        """300 examples; 10,000 at night."""


def test_it_keeps_the_laws_in_living_worlds() -> None:
    """In a process of its own: Hypothesis also draws from the constants of whatever modules are loaded, and beside
    other tests the worlds would be others in each run."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", __file__, "-k", "TestLivingWorld"]
    env = {**os.environ, ALONE: "1", "PYTHONHASHSEED": "0"}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout[-6000:]
