"""Our prober beside a bare loop of the same HTTP library that makes the same two requests.

python -m bench.probe      500 simulated boxes in another process; both in this one, in turns
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from urllib.parse import urlsplit

import aiohttp
import django

from bench.boxes import KEY, running

BOXES, ROUNDS = 500, 7
TIMEOUT_S = 3.0
AIM = 1.5


@dataclass(frozen=True)
class Cost:
    """One round: seconds of clock and of this process's CPU, and how many boxes answered well."""

    clock_s: float
    cpu_s: float
    well: int


@dataclass(frozen=True)
class Figures:
    """The cheapest round of each: what disturbs a round only ever makes it dearer."""

    ours: Cost
    bare: Cost
    boxes: int

    @property
    def ratio(self) -> float:
        return self.ours.cpu_s / self.bare.cpu_s

    def lines(self) -> list[str]:
        shown = [("llmao's prober", self.ours), ("bare aiohttp loop", self.bare)]
        head = f"{self.boxes} boxes, two requests each; cheapest of {ROUNDS} rounds"
        return [head, *(self._line(*each) for each in shown), f"{'ratio of CPU':20} {self.ratio:.2f} (aim: {AIM})"]

    def _line(self, name: str, cost: Cost) -> str:
        rate, cpu = self.boxes / cost.clock_s, cost.cpu_s * 1000 / self.boxes
        return f"{name:20} {rate:7.0f} probes/s {cpu:7.3f} CPU s per 1,000 boxes"


def _timed(work: Callable[[], int]) -> Cost:
    clock, cpu = time.perf_counter(), time.process_time()
    well = work()
    return Cost(time.perf_counter() - clock, time.process_time() - cpu, well)


async def _bare(urls: Iterable[str]) -> int:
    headers = {"Authorization": f"Bearer {KEY}"}
    timeout = aiohttp.ClientTimeout(total=TIMEOUT_S)

    async def ask(session: aiohttp.ClientSession, url: str) -> bool:
        async with session.get(f"{url}/health", headers=headers) as health:
            await health.read()
        async with session.get(f"{url}/v1/models", headers=headers) as models:
            return bool((await models.json())["data"][0]["id"] == "qwen3-8b")

    async with aiohttp.ClientSession(timeout=timeout, connector=aiohttp.TCPConnector(limit=0)) as session:
        return sum(await asyncio.gather(*(ask(session, url) for url in urls)))


def _ours(urls: list[str]) -> Callable[[], int]:
    """A round of the prober as it is between two wrong-key questions, which come every 10 minutes."""
    from fleet.sources.vllm import Job, probe  # noqa: PLC0415  # Django is set up first
    from reconcile.view import Target  # noqa: PLC0415

    targets = [Target(base=url, host="127.0.0.1", listen_port=urlsplit(url).port or 0, url=url) for url in urls]
    first = {each.url: each for each in probe([Job(each, KEY, None) for each in targets], TIMEOUT_S, time.time())}

    def work() -> int:
        probes = probe([Job(each, KEY, first.get(each.url)) for each in targets], TIMEOUT_S, time.time())
        return sum(each.models_status == 200 and each.listed[0].id == "qwen3-8b" for each in probes)

    return work


def measure(boxes: int = BOXES, rounds: int = ROUNDS) -> Figures:
    """Both, in turns, on the same boxes."""
    with running(boxes) as urls:
        ours = _ours(urls)
        pairs = [(_timed(ours), _timed(lambda: asyncio.run(_bare(urls)))) for _ in range(rounds)]
    return Figures(
        ours=min((pair[0] for pair in pairs), key=lambda cost: cost.cpu_s),
        bare=min((pair[1] for pair in pairs), key=lambda cost: cost.cpu_s),
        boxes=boxes,
    )


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "llmao_site.settings")
    django.setup()
    print("\n".join(measure().lines()))
