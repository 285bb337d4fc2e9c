"""Every mistake of `cases/` in the words that an admin reads; one file is one configuration and what is said of it."""

import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from fleet.config import ConfigErrors, load
from tests.fleet.config.files import CONFIG, MODELS, with_fleet, write

CASES = sorted((Path(__file__).parent / "cases").glob("*.yaml"))


def said(path: Path) -> list[str]:
    with pytest.raises(ConfigErrors) as caught:
        load(path)
    assert caught.value.message == "\n".join(str(error) for error in caught.value.errors)
    return [str(error).replace(str(path.parent), "FOLDER") for error in caught.value.errors]


def set_up(case: dict[str, Any], folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, value in case.get("env", {}).items():
        monkeypatch.setenv(name, value)
    for name, text in case.get("files", {}).items():
        (folder / name).write_text(text)
    return write(folder, case.get("config", CONFIG), case.get("models", MODELS))


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_it_says_what_is_wrong(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    case = yaml.safe_load(path.read_text())
    sentences = said(set_up(case, tmp_path, monkeypatch))
    assert sentences == case["errors"]
    assert sentences
    for secret in case.get("never", []):
        assert secret not in "\n".join(sentences)


def test_it_has_a_case_for_every_kind_of_mistake() -> None:
    assert len(CASES) >= 140


def test_it_says_where_it_looked_when_there_is_no_configuration(tmp_path: Path) -> None:
    assert said(tmp_path / "config.yaml")[0] == (
        "config.yaml: there is no configuration at FOLDER/config.yaml: copy config.example.yaml there and edit it,"
        " or name another file in the environment variable LLMAO_CONFIG"
    )


def test_it_names_a_folder_in_the_place_of_a_file(tmp_path: Path) -> None:
    write(tmp_path, config=None)
    (tmp_path / "config.yaml").mkdir()
    assert said(tmp_path / "config.yaml") == ["config.yaml: FOLDER/config.yaml is not a file."]


def test_it_refuses_a_huge_file(tmp_path: Path) -> None:
    write(tmp_path, config="# " + "x" * 5_000_000)
    assert said(tmp_path / "config.yaml") == [
        "config.yaml: FOLDER/config.yaml has more than 4000000 bytes: this is not the file that was meant."
    ]


def test_it_refuses_what_is_no_text(tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / "config.yaml").write_bytes(b"fleet: \xff\xfe")
    assert said(tmp_path / "config.yaml") == ["config.yaml: FOLDER/config.yaml is not UTF-8 text (byte 7)."]


def test_it_does_not_wait_for_a_pipe(tmp_path: Path) -> None:
    write(tmp_path, config=None)
    os.mkfifo(tmp_path / "config.yaml")
    assert said(tmp_path / "config.yaml") == ["config.yaml: FOLDER/config.yaml is not a file."]


@pytest.mark.parametrize("depth", [61, 900, 100_000])
def test_it_refuses_deep_nesting(tmp_path: Path, depth: int) -> None:
    write(tmp_path, config="fleet: " + "[" * depth + "]" * depth)
    sentences = said(tmp_path / "config.yaml")
    assert len(sentences) == 1 and ("nested too deep" in sentences[0] or "maximum nesting" in sentences[0])


@pytest.mark.parametrize(
    "key",
    ["listing_interval_s", "health_interval_s", "skew_interval_s", "litellm_health_interval_s", "sample_interval_s",
     "tick_interval_s", "health_timeout_s", "health_grace_s", "history_keep_s"],
)  # fmt: skip
@pytest.mark.parametrize("value", ["0", "1e-9", "0.09", "-0.5", "''", "soon", "true", "[1]", "{a: 1}", "1e400", "0x10"])
def test_it_wants_every_duration_long_enough(tmp_path: Path, key: str, value: str) -> None:
    (sentence,) = said(write(tmp_path, with_fleet(f"{key}: {value}")))
    assert sentence.startswith(f"config.yaml:4: fleet.{key}: expected a number of seconds from 0.1, as in ")


@pytest.mark.parametrize("where", ["config.yaml", "models.yaml"])
@pytest.mark.parametrize("text", ["{", "a: [", "- : -\n  x", "\x00", "%", "!!python/object:os.system x", "? ? ?", "''"])
def test_it_survives_garbage(tmp_path: Path, where: str, text: str) -> None:
    write(tmp_path)
    (tmp_path / where).write_text(text)
    assert any(sentence.startswith(where) for sentence in said(tmp_path / "config.yaml"))
