"""manage.py check reads the configuration."""

from pathlib import Path
from typing import Any

import pytest
from django.core.checks import run_checks
from django.core.management import CommandError, call_command

from tests.fleet.config.files import CONFIG, write


def found() -> list[tuple[str | None, str]]:
    return [(message.id, str(message.msg)) for message in run_checks(tags=["configuration"])]


def test_it_is_content_with_a_right_configuration(tmp_path: Path, settings: Any) -> None:
    settings.LLMAO_CONFIG = write(tmp_path)
    assert found() == []


def test_it_names_every_mistake(tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.LLMAO_CONFIG = write(tmp_path, CONFIG + "policy: {mode: dry, keep_last_row: 3}\n")
    monkeypatch.delenv("LLMAO_CONFIG")
    assert found() == [
        ("fleet.E001", "config.yaml:5: policy.mode: expected act or observe; found the text 'dry'"),
        ("fleet.E001", "config.yaml:5: policy.keep_last_row: expected true or false; found 3"),
    ]
    with pytest.raises(CommandError, match="policy.mode"):
        call_command("check")


def test_it_lets_a_new_clone_migrate(tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.LLMAO_CONFIG = tmp_path / "config.yaml"
    monkeypatch.delenv("LLMAO_CONFIG", raising=False)
    ((identifier, sentence),) = found()
    assert identifier == "fleet.W001" and "copy config.example.yaml there" in sentence


def test_it_wants_the_file_that_the_environment_names(
    tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.LLMAO_CONFIG = tmp_path / "config.yaml"
    monkeypatch.setenv("LLMAO_CONFIG", str(settings.LLMAO_CONFIG))
    ((identifier, sentence),) = found()
    assert identifier == "fleet.E001" and "LLMAO_CONFIG" in sentence and str(tmp_path) in sentence
