"""The real proxy as a person starts it."""

import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.litellm.api import Api
from tests.site.running import ROOT

COMMAND = [sys.executable, "-m", "tests.litellm_real"]


@pytest.mark.real_litellm
def test_it_starts_the_real_proxy_says_where_it_is_and_ends_with_ctrl_c(tmp_path: Path) -> None:
    with subprocess.Popen([*COMMAND, str(tmp_path)], cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        said = dict(process.stdout.readline().split() for _ in range(3))
        assert Api(said["base_url"], said["master_key"]).rows() == {}
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=30) == 0
    assert (tmp_path / "litellm.db").exists()


def test_it_says_how_to_install_it(tmp_path: Path) -> None:
    env = {"PATH": "/usr/bin:/bin", "LLMAO_LITELLM_VENV": str(tmp_path / "none")}
    ended = subprocess.run(COMMAND, cwd=ROOT, env=env, capture_output=True, text=True, timeout=60)
    assert ended.returncode == 1 and "Traceback" not in ended.stderr
    assert re.search(r"python3.11 -m venv .* && .*pip install -r requirements-litellm.txt", ended.stderr)
