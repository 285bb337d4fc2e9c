"""`python -m sim`: a world without a story, driven over HTTP (see sim.control), until Ctrl-C."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import signal

from sim.control import Control
from sim.litellm import MASTER_KEY
from sim.world import FLEET_KEY, Rules, World


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m sim", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="of the control API on 127.0.0.1 (a free one)")
    parser.add_argument("--llmao-url", help="where boxes ask for their config; POST /llmao sets it later")
    parser.add_argument("--fleet-key", default=FLEET_KEY)
    parser.add_argument("--load-s", type=float, default=5.0, help="how long a model loads (5)")
    parser.add_argument("--ask-s", type=float, default=2.0, help="how often a box asks for its config (2)")
    parser.add_argument("--litellm-replicas", type=int, default=1)
    return parser.parse_args()


async def _run(chosen: argparse.Namespace) -> None:
    rules = Rules(
        fleet_key=chosen.fleet_key,
        load_s=chosen.load_s,
        ask_s=chosen.ask_s,
        litellm_replicas=chosen.litellm_replicas,
    )
    world = World(rules, chosen.llmao_url)
    control = Control(world)
    await world.start()
    try:
        await control.site.start(port=chosen.port)
        print(f"control  {control.site.url}/world", flush=True)
        print(f"vast     {world.vast.base_url} (key {rules.vast_key})", flush=True)
        print(f"runpod   {world.runpod.base_url} (key {rules.runpod_key})", flush=True)
        for each in world.litellms:
            print(f"litellm  {each.base_url} (key {MASTER_KEY})", flush=True)
        await _until_told_to_stop()
    finally:
        await control.site.stop()
        await world.stop()


async def _until_told_to_stop() -> None:
    told = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, told.set)
    await told.wait()


if __name__ == "__main__":
    with contextlib.suppress(BrokenPipeError):
        asyncio.run(_run(_arguments()))
