"""A command that somebody reads in our documents is a command that something here runs."""

import re
from pathlib import Path

import pytest

from tests.site.running import ROOT

DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
EXPORTS = (
    "export LLMAO_FLEET_KEY=a-long-random-text",
    "export LLMAO_VLLM_API_SALT=another-long-random-text",
    "export LITELLM_MASTER_KEY=sk-the-master-key-of-your-proxy",
    "export VAST_API_KEY=from-your-account-at-Vast",
    "export OPENAI_API_KEY=from-your-account-at-OpenAI",
)
# command -> what runs it, and the words by which one finds it there
TRIED = {
    "make demo": ("tests/first_steps/test_clone.py", '"make", "demo"'),
    "make setup": ("tests/first_steps/test_clone.py", '["make", "setup"]'),
    "make run": ("tests/first_steps/test_clone.py", '"make", "run"'),
    "cp config.example.yaml config.yaml": ("tests/first_steps/test_clone.py", "from_readme("),
    "cp models.example.yaml models.yaml": ("tests/first_steps/test_clone.py", "from_readme("),
    ".venv/bin/python manage.py check": ("tests/first_steps/test_clone.py", "from_readme("),
    ".venv/bin/python manage.py migrate": ("tests/first_steps/test_clone.py", "from_readme("),
    ".venv/bin/python manage.py createsuperuser": ("tests/first_steps/test_clone.py", "from_readme("),
    ".venv/bin/python manage.py plan": ("tests/first_steps/test_clone.py", "from_readme("),
    ".venv/bin/python manage.py view": ("tests/first_steps/test_clone.py", "from_readme("),
    ".venv/bin/python manage.py fetch --all": ("tests/first_steps/test_clone.py", "from_readme("),
    ".venv/bin/python manage.py reconcile": ("tests/first_steps/test_clone.py", "from_readme("),
    ".venv/bin/python manage.py ready": ("tests/site/test_compose.py", 'command("ready")'),
    **dict.fromkeys(EXPORTS, ("tests/first_steps/test_clone.py", "exports_of_readme(")),
    "LLMAO_VAR=var/demo LLMAO_CONFIG=var/demo/config.yaml .venv/bin/python manage.py view": (
        "tests/first_steps/test_clone.py",
        "from_readme(clone, OF_THE_DEMO)",
    ),
    'curl -sS -i -H "Authorization: Bearer $LLMAO_FLEET_KEY" -H "X-LLMAO-Host: $LLMAO_HOST" "$LLMAO_URL/vllm/config"': (
        "tests/fleet/test_boxes_documented.py",
        'blocks("sh")',
    ),
    ".venv/bin/python -m sim": ("tests/sim/test_control.py", '"-m", "sim"]'),
    "python3 -m venv .venv-litellm": (".ci/run", "-m venv .venv-litellm"),
    ".venv-litellm/bin/python -m pip install -r requirements-litellm.txt": (
        ".ci/run",
        ".venv-litellm/bin/python -m pip install --quiet --disable-pip-version-check -r requirements-litellm.txt",
    ),
    ".venv/bin/python -m tests.litellm_real": ("tests/litellm/test_by_hand.py", '"-m", "tests.litellm_real"]'),
    "make test": (".ci/run", "make test"),
    "make lint": (".ci/run", "make lint"),
    "make bench": (".ci/run", "make bench"),
    ".ci/run": (".ci/run", ".ci/run"),
    ".venv/bin/python -m pytest tests/reconcile": (".ci/run", "suite -n 2 tests/reconcile"),
    "make lock": ("tests/site/test_lock.py", '"make", "--dry-run", "lock"'),
}


def commands(document: Path) -> list[str]:
    """Every line of the document's shell blocks, without its comment."""
    blocks = re.findall(r"```sh\n(.*?)```", document.read_text(), re.DOTALL)
    lines = [line.split("#")[0].strip() for block in blocks for line in block.splitlines()]
    return [line for line in lines if line]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_it_runs_every_command_of(document: Path) -> None:
    assert [line for line in commands(document) if line not in TRIED] == []


@pytest.mark.parametrize(("command", "where"), TRIED.items(), ids=TRIED.keys())
def test_it_still_runs(command: str, where: tuple[str, str]) -> None:
    path, words = where
    assert words in (ROOT / path).read_text()
    assert command in [line for document in DOCUMENTS for line in commands(document)], "nobody reads it any more"


def test_it_exports_every_variable_of_the_examples() -> None:
    examples = "".join((ROOT / name).read_text() for name in ("config.example.yaml", "models.example.yaml"))
    used = re.findall(r"^[^#\n]*\{env: (\w+)\}", examples, re.MULTILINE)
    exported = re.findall(r"^ *export (\w+)=", (ROOT / "README.md").read_text(), re.MULTILINE)
    assert sorted(exported) == sorted(used)


def test_it_shows_the_two_commands_on_the_first_screen() -> None:
    assert commands(ROOT / "README.md")[:2] == ["make demo", "make test"]
    first_screen = (ROOT / "README.md").read_text().splitlines()[:25]
    assert "make test" in "\n".join(first_screen)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_it_links_to_files_that_exist(document: Path) -> None:
    links = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", document.read_text())
    missing = [link for link in links if "://" not in link and not (document.parent / link).exists()]
    assert missing == []
