"""The same input gives the same bytes in every process, whatever its hash seed: a stored pass can be decided again."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.reconcile.digests import WORLDS
from tests.reconcile.scenario import files

ROOT = Path(__file__).parents[2]
SEEDS = ("0", "1", "4711")


def started(seed: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.reconcile.digests"],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": seed},
        stdout=subprocess.PIPE,
        text=True,
    )


def test_it_decides_the_same_bytes_in_every_process() -> None:
    told = [process.communicate(timeout=300)[0].splitlines() for process in [started(seed) for seed in SEEDS]]
    assert len(told[0]) == len(files()) + WORLDS
    for other in told[1:]:
        assert [pair for pair in zip(told[0], other, strict=True) if pair[0] != pair[1]] == []
