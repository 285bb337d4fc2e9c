"""The demo as a person starts it, in a folder of its own."""

from __future__ import annotations

import http.cookiejar
import os
import re
import signal
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.site.running import processes

ROOT = Path(__file__).parent.parent.parent
PATIENCE_S = 90.0

pytestmark = pytest.mark.e2e


class Demo:
    def __init__(self, var: Path) -> None:
        self.folder, self.log = var / "demo", var / "said"
        port_and_pace = ["--port", "0", "--pace", "0.05"]
        with self.log.open("wb") as out:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "sim.demo", *port_and_pace],
                cwd=ROOT,
                env={**os.environ, "LLMAO_VAR": str(var)},
                stdout=out,
                stderr=out,
            )

    @property
    def said(self) -> str:
        return self.log.read_text()

    def until_said(self, words: str) -> re.Match[str]:
        deadline = time.monotonic() + PATIENCE_S
        while not (found := re.search(words, self.said)):
            assert self.process.poll() is None, self.said
            assert time.monotonic() < deadline, f"{words} was not said:\n{self.said}"
            time.sleep(0.1)
        return found

    def seconds_to_end(self, number: signal.Signals) -> float:
        began = time.monotonic()
        self.process.send_signal(number)
        self.process.wait(30)
        while processes(self.folder):
            assert time.monotonic() - began < 30, processes(self.folder)
            time.sleep(0.1)
        return time.monotonic() - began


@contextmanager
def _playing(var: Path) -> Iterator[Demo]:
    demo = Demo(var)
    try:
        yield demo
    finally:
        demo.process.kill()
        demo.process.wait()


def _signed_in(url: str, password: str) -> str:
    """The page behind the sign-in that was printed."""
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()))
    form = opener.open(f"{url}/models", timeout=20).read().decode()
    token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', form)
    assert token is not None
    fields = {"csrfmiddlewaretoken": token[1], "username": "admin", "password": password, "next": "/models"}
    sent = urllib.parse.urlencode(fields).encode()
    page: str = opener.open(f"{url}/accounts/login/", sent, timeout=20).read().decode()
    return page


def test_it_plays_its_story_and_ends_on_ctrl_c(tmp_path: Path) -> None:
    with _playing(tmp_path) as demo:
        url = demo.until_said(r"open +(http://127\.0\.0\.1:\d+)/models")[1]
        password = demo.until_said(r"sign in as admin with (\S+)")[1]
        demo.until_said("from here on something small happens")
        for step in (
            "Awaiting",
            "sonata-large, a commercial model, is in LiteLLM",
            "LiteLLM has 4 deployments of them: Healthy",
            "'Hello from qwen3-8b.'",
            r"deployment of 127\.1\.0\.11:8003 follows to \d+",
            r"the deployment of 127\.1\.0\.13 is gone",
            r"127\.1\.0\.66, which config\.yaml does not know",
            "its deployment is back",
        ):
            assert re.search(step, demo.said), f"{step} was not said:\n{demo.said}"
        page = _signed_in(url, password)
        assert "qwen3-8b" in page and "127.1.0.66" in page
        assert demo.seconds_to_end(signal.SIGINT) < 10
        assert demo.process.returncode == 0


@pytest.mark.parametrize(("number", "limit_s"), [(signal.SIGTERM, 10), (signal.SIGHUP, 10), (signal.SIGKILL, 15)])
def test_it_leaves_no_process_behind(tmp_path: Path, number: signal.Signals, limit_s: float) -> None:
    with _playing(tmp_path) as demo:
        demo.until_said("sign in as admin")
        assert processes(demo.folder)
        assert demo.seconds_to_end(number) < limit_s


def test_it_says_what_is_wrong_when_llmao_cannot_start(tmp_path: Path) -> None:
    (tmp_path / "demo").mkdir()
    (tmp_path / "demo" / "up.lock").mkdir()
    with _playing(tmp_path) as demo:
        assert demo.process.wait(60) == 1
        assert "Is a directory" in demo.said and "up.lock" in demo.said
        assert "Traceback" not in demo.said
