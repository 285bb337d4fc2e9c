"""docs/boxes.md: what it shows of the protocol is what is answered, and its script does what it says."""

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from pytest_django.live_server_helper import LiveServer

from fleet.models import BoxContact, Host, HostLabel, ServedConfig
from reconcile import bodies
from reconcile.identity import Key
from reconcile.inputs import Model, Server
from tests.fleet.config.files import with_fleet, write
from tests.site.running import ROOT, until

DOCUMENT = (ROOT / "docs" / "boxes.md").read_text()
HOST = "203.0.113.10"
BOXES = f"allow_private_hosts: true\nhosts:\n  {HOST}: [[qwen3-8b, 8003], [tiny, 8001]]\n  127.0.0.1: [[tiny, 8007]]"
MODELS = """\
models:
  - model_name: qwen3-8b
    litellm_params: {model: hosted_vllm/qwen3-8b}
    model_info: {self_hosted: true}
    vllm: {model: Qwen/Qwen3-8B-FP8, args: [--dtype, auto], gpu_memory_utilization: 0.4, max_model_len: 40960,
      vram_gb: 9, disk_gb: 12}
  - model_name: tiny
    litellm_params: {model: hosted_vllm/tiny}
    model_info: {self_hosted: true}
    vllm: {model: Example/Tiny-1B, args: ["it's", '{"a": "b c"}']}
"""
FOREIGN = ("LLMAO", "PUBLIC_", "RUNPOD")
VLLM = """\
#!/usr/bin/env python3
import json, os, subprocess, sys, time
child = subprocess.Popen(["sleep", "300"])
with open(os.environ["STARTED"], "a") as started:
    started.write(json.dumps({"pid": os.getpid(), "child": child.pid, "argv": sys.argv[1:]}) + "\\n")
time.sleep(300)
"""


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", DOCUMENT, re.DOTALL)


@pytest.fixture
def config(tmp_path: Path, settings: Any) -> Path:
    return write_config(tmp_path, settings)


def write_config(folder: Path, settings: Any, boxes: str = BOXES, models: str = MODELS) -> Path:
    settings.LLMAO_CONFIG = write(folder, with_fleet(boxes), models)
    return folder


# --- the examples ---------------------------------------------------------------------------------------------


@pytest.mark.django_db
def test_it_shows_the_answers_as_they_are(tmp_path: Path, settings: Any) -> None:
    write_config(tmp_path, settings, f"hosts: {{{HOST}: [[qwen3-8b, 8003]]}}")
    shown, refused = map(json.loads, blocks("json"))
    headers = {"Authorization": "Bearer fleet-key"}
    told = Client().get("/vllm/config", headers={**headers, "X-LLMAO-Host": HOST}).json()
    assert re.fullmatch("sha256:[0-9a-f]{64}", told["revision"])
    told["revision"], told["servers"][0]["api_key"] = "sha256:REVISION", "sk-vllm-KEY"
    assert told == shown
    assert Client().get("/vllm/config", headers={**headers, "X-LLMAO-Host": "198.51.100.7"}).json() == refused


def test_it_lists_every_code_that_is_answered() -> None:
    source = (ROOT / "fleet" / "boxes.py").read_text()
    answered = set(re.findall(r'_refused\((\d+), "\w+", "(\w+)"', source))
    rows = re.findall(r"^\| (\d+) \|([^|]*)\|", DOCUMENT, re.MULTILINE)
    shown = {(status, code) for status, codes in rows for code in re.findall(r"`(\w+)`", codes)}
    assert answered == shown and {status for status, _ in rows} == {"200", "304"} | {status for status, _ in answered}


def test_it_explains_every_key_that_is_written() -> None:
    model = Model(name="m", self_hosted=True, params={"model": "hosted_vllm/m"}, weights="w")
    server = Server(host=HOST, listen_port=8001, model="m", origin="config", key_hash="0" * 32)
    key = Key(f"http://{HOST}:8001", "m")
    info = bodies.of_box(key, server, model, f"http://{HOST}:40001", served_id="", instance="vast 1")["model_info"]
    table = DOCUMENT.partition("In its `model_info` stand")[2]
    assert [name for name in info if f"`{name}`" not in table] == []
    assert f"| {bodies.HEALTH_CHECK_TIMEOUT_S}, unless" in table


def test_it_explains_every_label() -> None:
    assert set(re.findall(r"^\| `([a-z ]+)` \|", DOCUMENT.partition("What people say")[2], re.MULTILINE)) >= {
        "approved", "reboot requested", "retired",
    }  # fmt: skip


# --- the commands ---------------------------------------------------------------------------------------------


@pytest.mark.django_db
def test_it_asks_with_the_documented_curl(config: Path, live_server: LiveServer) -> None:
    (line,) = blocks("sh")
    env = {**os.environ, "LLMAO_URL": live_server.url, "LLMAO_FLEET_KEY": "fleet-key", "LLMAO_HOST": HOST}
    ended = subprocess.run(["bash", "-c", line], env=env, capture_output=True, text=True, timeout=30, check=True)
    head, _, body = ended.stdout.replace("\r", "").partition("\n\n")
    assert head.startswith("HTTP/1.1 200") and f'ETag: "{json.loads(body)["revision"]}"' in head


class Box:
    """The documented script, in a folder of its own, with a `vllm` that only notes how it was started."""

    def __init__(self, folder: Path, url: str, **env: str) -> None:
        self.folder, self.started = folder, folder / "started"
        (folder / "bin").mkdir(parents=True)
        (folder / "bin" / "vllm").write_text(VLLM)
        (folder / "bin" / "vllm").chmod(0o700)
        (folder / "llmao-box.sh").write_text(blocks("bash")[0])
        given = {
            **{name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)},
            "PATH": f"{folder / 'bin'}:{os.environ['PATH']}", "STARTED": str(self.started), "TMPDIR": str(folder),
            "LLMAO_URL": url, "LLMAO_FLEET_KEY": "fleet-key", "LLMAO_EVERY_S": "0.3", "LLMAO_LOGS": str(folder), **env,
        }  # fmt: skip
        self._said = (folder / "said").open("wb")
        self.process = subprocess.Popen(
            ["bash", str(folder / "llmao-box.sh")], env=given, stdout=self._said, stderr=self._said
        )

    @property
    def said(self) -> str:
        return (self.folder / "said").read_text()

    def starts(self) -> list[dict[str, Any]]:
        lines = self.started.read_text().splitlines() if self.started.exists() else []
        return [json.loads(line) for line in lines]

    def living(self) -> dict[str, dict[str, Any]]:
        """Listen port -> the start of the server that lives there."""
        return {each["argv"][3]: each for each in self.starts() if lives(each["pid"])}

    def until(self, holds: Callable[[], bool], what: str) -> None:
        until(lambda: holds() or self.process.poll() is not None, f"{what}; it said:\n{self.said}", 30)
        assert self.process.poll() is None and holds(), self.said

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        self.process.wait(timeout=40)
        self._said.close()


def lives(pid: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.fixture
def box(tmp_path: Path, live_server: LiveServer) -> Iterator[Callable[..., Box]]:
    made: list[Box] = []

    def start(**env: str) -> Box:
        made.append(Box(tmp_path / f"box{len(made)}", live_server.url, **env))
        return made[-1]

    yield start
    for each in made:
        each.end()
        assert [start for start in each.starts() if lives(start["pid"]) or lives(start["child"])] == []
        assert list(each.folder.glob("tmp.*")) == []


def test_it_starts_one_vllm_for_each_server(config: Path, box: Callable[..., Box]) -> None:
    running = box(LLMAO_HOST=HOST, PUBLIC_IPADDR="198.51.100.7")
    running.until(lambda: len(running.living()) == 2, "both servers run")
    keys = {each["argv"][3]: each["argv"][7] for each in running.starts()}
    assert all(key.startswith("sk-vllm-") for key in keys.values()) and keys["8001"] != keys["8003"]
    assert {port: each["argv"] for port, each in running.living().items()} == {
        "8003": [
            "serve", "Qwen/Qwen3-8B-FP8", "--port", "8003", "--served-model-name", "qwen3-8b", "--api-key",
            keys["8003"], "--max-model-len", "40960", "--gpu-memory-utilization", "0.4", "--dtype", "auto",
        ],
        "8001": [
            "serve", "Example/Tiny-1B", "--port", "8001", "--served-model-name", "tiny", "--api-key", keys["8001"],
            "it's", '{"a": "b c"}',
        ],
    }  # fmt: skip
    commands = subprocess.run(["ps", "axww", "-o", "command="], capture_output=True, text=True, check=True).stdout
    assert "fleet-key" not in commands
    assert "sk-vllm-" not in running.said and "fleet-key" not in running.said


def test_it_asks_again_and_leaves_alone_what_did_not_change(config: Path, box: Callable[..., Box]) -> None:
    running = box(LLMAO_HOST=HOST)
    running.until(lambda: "llmao: 304" in running.said, "it was told that nothing changed")
    first = BoxContact.objects.get(host=HOST).count
    running.until(lambda: BoxContact.objects.get(host=HOST).count > first + 2, "it goes on asking")
    assert len(running.starts()) == 2 and ServedConfig.objects.count() == 1


def test_it_restarts_what_changed_and_ends_what_is_gone(config: Path, settings: Any, box: Callable[..., Box]) -> None:
    running = box(LLMAO_HOST=HOST)
    running.until(lambda: len(running.living()) == 2, "both servers run")
    before = running.living()
    write_config(config, settings, models=MODELS.replace("--dtype, auto", "--dtype, half"))
    running.until(lambda: "half" in running.living().get("8003", {"argv": []})["argv"], "the changed one runs anew")
    assert running.living()["8001"] == before["8001"] and not lives(before["8003"]["child"])
    write_config(config, settings, f"hosts: {{{HOST}: [[tiny, 8001]]}}")
    running.until(lambda: list(running.living()) == ["8001"], "the other one was ended")
    assert running.living()["8001"] == before["8001"]


def test_it_takes_a_new_key(config: Path, settings: Any, box: Callable[..., Box]) -> None:
    running = box(LLMAO_HOST=HOST)
    running.until(lambda: len(running.living()) == 2, "both servers run")
    settings.LLMAO_CONFIG = write(config, with_fleet(BOXES).replace("salt: salt", "salt: another"), MODELS)
    running.until(lambda: len(running.starts()) == 4 and len(running.living()) == 2, "both run with a new key")
    assert len({each["argv"][7] for each in running.starts()}) == 4


def test_it_starts_again_what_ended_by_itself(config: Path, box: Callable[..., Box]) -> None:
    running = box(LLMAO_HOST=HOST)
    running.until(lambda: len(running.living()) == 2, "both servers run")
    crashed = running.living()["8001"]
    os.kill(crashed["pid"], signal.SIGKILL)
    running.until(lambda: running.living().get("8001", crashed) != crashed, "it runs again")
    assert not lives(crashed["child"]), "what it left would hold the memory"


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda folder, settings: retire(), 'llmao: 404 {"error": {"message": "Nothing is assigned to 203.0.113.10'),
        (lambda folder, settings: write(folder, with_fleet(BOXES).replace("key: fleet-key", "key: new"), MODELS),
         'llmao: 401 {"error"'),
        (lambda folder, settings: write(folder, with_fleet(BOXES).replace("  key: fleet-key\n", ""), MODELS),
         'llmao: 503 {"error"'),
    ],
    ids=["404", "401", "503"],
)  # fmt: skip
def test_it_leaves_running_what_runs_on_any_refusal(
    spoil: Callable[[Path, Any], Any], says: str, config: Path, settings: Any, box: Callable[..., Box]
) -> None:
    running = box(LLMAO_HOST=HOST)
    running.until(lambda: len(running.living()) == 2, "both servers run")
    before = running.living()
    spoil(config, settings)
    running.until(lambda: says in running.said, "it says why it was refused")
    time.sleep(0.5)  # a turn or two
    assert running.living() == before


def retire() -> None:
    host, _ = Host.objects.get_or_create(address=HOST)
    HostLabel.objects.create(host=host, label="retired", by="ada")


@pytest.mark.parametrize(
    ("env", "ports"),
    [({"PUBLIC_IPADDR": HOST}, {"8001", "8003"}), ({"RUNPOD_PUBLIC_IP": HOST}, {"8001", "8003"}), ({}, {"8007"})],
    ids=["Vast", "RunPod", "the peer"],
)
def test_it_states_its_address(env: dict[str, str], ports: set[str], config: Path, box: Callable[..., Box]) -> None:
    running = box(**env)
    running.until(lambda: set(running.living()) == ports, "the servers of this address run")


def test_it_says_that_nobody_answers_and_goes_on(box: Callable[..., Box]) -> None:
    running = box(LLMAO_HOST=HOST, LLMAO_URL="http://127.0.0.1:1")
    running.until(lambda: "llmao: no answer curl: (7)" in running.said, "it says so")


@pytest.mark.parametrize("name", ["LLMAO_URL", "LLMAO_FLEET_KEY"])
def test_it_says_what_is_not_set(name: str, tmp_path: Path) -> None:
    env = {"PATH": os.environ["PATH"], "LLMAO_URL": "http://127.0.0.1:1", "LLMAO_FLEET_KEY": "k"}
    del env[name]
    ended = subprocess.run(
        ["bash", "-c", blocks("bash")[0]], env=env, capture_output=True, text=True, timeout=20, cwd=tmp_path
    )
    assert ended.returncode != 0 and f"{name}: set it to " in ended.stderr
