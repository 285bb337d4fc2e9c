"""`python -m sim.demo`: all of llmao beside a simulated world, and a story to watch on its page.

Nothing is kept from one demo to the next: `var/demo` is emptied at the start. Ctrl-C, SIGTERM and SIGHUP end it.
"""

from __future__ import annotations

import argparse
import os
import secrets
import socket
import sys
import time
import urllib.error
import urllib.request
from contextlib import suppress
from pathlib import Path
from typing import Any

import yaml

from sim import story
from sim.box import free_port
from sim.child import Child
from sim.held import HeldWorld, running_world
from sim.litellm import MASTER_KEY
from sim.stage import Failed, Stage, Stopped, own_folder
from sim.world import Rules

ROOT = Path(__file__).resolve().parent.parent
FAVOURITE_PORT = 8000
START_TIMEOUT_S = 90.0
LOAD_S = 14.0  #: how long a model loads, at the story's own pace
STOP_PATIENCE_S = 8.5  #: `manage.py up` needs at most that; the whole demo is to end within 10 s
ADMIN = "admin"


# -- the configuration


def configuration(world: HeldWorld, salt: str) -> dict[str, Any]:
    """config.yaml: the design's clocks, thirty times as fast."""
    return {
        "fleet": {
            "key": world.rules.fleet_key,
            "vllm_api_salt": salt,
            "hosts": story.HOSTS,
            "allow_private_hosts": True,
            "vast": {"api_key": world.rules.vast_key, "base_url": world.vast_url, "page_wait_s": 0},
            "listing_interval_s": 2,
            "health_interval_s": 1,
            "health_timeout_s": 1,
            "health_grace_s": 60,
            "skew_interval_s": 2,
            "sample_interval_s": 2,
            "tick_interval_s": 2,
            "litellm_health_interval_s": 15,
        },
        "litellm": {"base_url": world.litellm_urls[0], "master_key": MASTER_KEY, "settle_s": 4},
        "policy": {"opinion_wait_s": 20},
    }


def _box_model(name: str, weights: str, display_name: str, context: int, **vllm: Any) -> dict[str, Any]:
    return {
        "model_name": name,
        "display_name": display_name,
        "context_window": context,
        "litellm_params": {"model": f"hosted_vllm/{name}"},
        "model_info": {"self_hosted": True},
        "vllm": {"model": weights, "args": ["--dtype", "auto"], "max_model_len": context, **vllm},
    }


def models(base: str, key: str) -> dict[str, Any]:
    """models.yaml; `base` and `key` are the commercial provider's."""
    bought = {
        "model_name": story.BOUGHT,
        "display_name": "Sonata Large",
        "provider": "Example AI",
        "context_window": 200000,
        "litellm_params": {"model": f"openai/{story.BOUGHT}", "api_base": base, "api_key": key},
    }
    small = _box_model(story.SMALL, "Qwen/Qwen3-8B-FP8", "Qwen3 8B", 40960, gpu_memory_utilization=0.4)
    large = _box_model(story.LARGE, "google/gemma-4-26b-it", "Gemma 4 26B", 131072, gpu_memory_utilization=0.5)
    return {"models": [small, large, bought]}


def write_configuration(folder: Path, world: HeldWorld) -> None:
    key = f"sk-{secrets.token_urlsafe(24)}"
    base = world.commercial(story.BOUGHT, key)
    _write(folder / "config.yaml", configuration(world, secrets.token_urlsafe(32)))
    _write(folder / "models.yaml", models(base, key))


def _write(path: Path, content: dict[str, Any]) -> None:
    path.touch(mode=0o600)
    path.write_text(yaml.safe_dump(content, sort_keys=False, allow_unicode=True))


# -- llmao


def environment(folder: Path, password: str) -> dict[str, str]:
    """The embedded default on `folder`, whatever the shell says: a demo must not reach somebody's database."""
    foreign = ("DATABASE_URL", "REDIS_URL", "SECRET_KEY", "DEBUG", "ALLOWED_HOSTS", "LLMAO_HTTPS")
    return {
        **{name: value for name, value in os.environ.items() if name not in foreign},
        "LLMAO_VAR": str(folder),
        "LLMAO_CONFIG": str(folder / "config.yaml"),
        "SECRET_KEY": secrets.token_urlsafe(50),
        "DJANGO_SUPERUSER_USERNAME": ADMIN,
        "DJANGO_SUPERUSER_PASSWORD": password,
        "DJANGO_SUPERUSER_EMAIL": "admin@example.org",
    }


def _manage(folder: Path, env: dict[str, str], *arguments: str) -> Child:
    command = [sys.executable, "manage.py", *arguments]
    return Child(command, cwd=ROOT, env=env, log=folder / "llmao.log")


def _finished(stage: Stage, child: Child) -> None:
    """Wait for a command to end well. Failed with its last words otherwise; a signal ends it."""
    try:
        while child.ended is None:
            stage.pause(0.1)
    finally:
        child.stop(2.0)
    if child.ended:
        raise Failed(f"llmao could not be prepared:\n{child.last_words()}")


def _port(wanted: int | None) -> int:
    """The one asked for (0: a free one), else 8000 when it is free: an address that one can remember."""
    if wanted is not None:
        return wanted or free_port("127.0.0.1")
    try:
        socket.create_server(("127.0.0.1", FAVOURITE_PORT)).close()
    except OSError:
        return free_port("127.0.0.1")
    return FAVOURITE_PORT


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/healthz", timeout=2) as answer:  # noqa: S310  # a loopback URL of ours
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def _start(stage: Stage, folder: Path, password: str, port: int) -> str:
    """Migrate, make the admin, start everything; llmao's address once it answers there."""
    env = environment(folder, password)
    for arguments in (("migrate", "--verbosity", "0"), ("createsuperuser", "--noinput", "--verbosity", "0")):
        _finished(stage, _manage(folder, env, *arguments))
    stage.llmao = _manage(folder, env, "up", "--port", str(port))
    deadline = time.monotonic() + START_TIMEOUT_S
    while not _answers(f"http://127.0.0.1:{port}"):
        if time.monotonic() > deadline:
            raise Failed(f"llmao does not answer; its last words:\n{stage.llmao.last_words()}")
        stage.pause(0.2)
    return f"http://127.0.0.1:{port}"


# -- the whole


def _programme(stage: Stage, url: str, password: str, folder: Path) -> None:
    for line in (
        f"open    {url}/models",
        f"sign in as {ADMIN} with {password}",
        f"config  {folder / 'config.yaml'}, models.yaml beside it: edit them and watch",
        f"logs    {folder / 'llmao.log'}",
        "what comes in the next two minutes: boxes wait, load and are added to LiteLLM; a port moves; a box dies and",
        "its deployment goes; an unknown box asks to be approved; the dead one returns. Ctrl-C ends all of it.",
    ):
        stage.say(line)


def _play(stage: Stage, folder: Path, chosen: argparse.Namespace) -> None:
    key = f"sk-fleet-{secrets.token_urlsafe(24)}"
    rules = Rules(fleet_key=key, load_s=LOAD_S * chosen.pace, ask_s=1.0, litellm_poll_s=1.0)
    password = secrets.token_hex(6)  # no sign that a shell or a program takes for an option
    with running_world(rules) as world:
        try:
            told = story.Story(world, stage.say, stage.pause, chosen.pace)
            write_configuration(folder, world)
            stage.say("starting llmao and a simulated world; this takes some seconds")
            told.begin()
            world.llmao_url = _start(stage, folder, password, _port(chosen.port))
            _programme(stage, world.llmao_url, password, folder)
            told.tell()
            told.go_on()
        finally:
            if stage.llmao is not None:
                stage.llmao.stop(STOP_PATIENCE_S)


def require_loopback_range() -> None:
    """Every box is an address of its own in 127.0.0.0/8. Linux has them all; elsewhere they must be added."""
    for host in story.LISTEN:
        try:
            free_port(host)
        except OSError as problem:
            raise Failed(
                f"the demo's boxes need the address {host}, which this machine does not have ({problem}); "
                f"on macOS: sudo ifconfig lo0 alias {host}"
            ) from None


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m sim.demo", description=__doc__)
    parser.add_argument("--port", type=int, help="of the page; 0 takes a free one (8000, else a free one)")
    parser.add_argument("--pace", type=float, default=1.0, help="stretches every pause of the story: 0.2 is hasty (1)")
    return parser.parse_args()


def main() -> int:
    chosen, stage = _arguments(), Stage()
    folder = Path(os.environ.get("LLMAO_VAR") or ROOT / "var").absolute() / "demo"
    try:
        require_loopback_range()
        with own_folder(folder):
            _play(stage, folder, chosen)
    except Stopped:
        stage.say("everything has ended")
    except (Failed, OSError) as problem:
        with suppress(OSError):
            print(problem, file=sys.stderr, flush=True)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
