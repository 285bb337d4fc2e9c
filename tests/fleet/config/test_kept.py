"""The configuration of this process: read again when a file changed, the last good one kept through a bad edit."""

import os
import threading
from pathlib import Path
from typing import Any

import pytest

from fleet import config
from fleet.config import ConfigErrors, reading
from fleet.config.shape import Vllm
from tests.fleet.config.files import CONFIG, MODELS, with_fleet, write


@pytest.fixture
def path(tmp_path: Path, settings: Any) -> Path:
    settings.LLMAO_CONFIG = write(tmp_path)
    return tmp_path / "config.yaml"


def test_it_reads_again_only_when_a_file_changed(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reads: list[Path] = []
    real = reading.load

    def counted(where: Path, files: Any) -> config.Config:
        reads.append(where)
        return real(where, files)

    monkeypatch.setattr("fleet.config.kept.load", counted)
    first = config.current()
    assert config.current() is first and len(reads) == 1
    path.write_text(with_fleet("health_interval_s: 2"))
    assert config.current().fleet.health_interval_s == 2 and len(reads) == 2
    path.with_name("models.yaml").write_text(MODELS.replace("FP8", "AWQ"))
    assert config.current().models[0].vllm == Vllm(model="Qwen/Qwen3-8B-AWQ") and len(reads) == 3


def test_it_sees_an_edit_of_the_same_size_and_time(path: Path) -> None:
    before = path.stat()
    assert config.current().litellm.base_url == "http://127.0.0.1:4000"
    path.write_text(CONFIG.replace("4000", "4001"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert config.current().litellm.base_url == "http://127.0.0.1:4001"


def test_it_sees_a_file_that_is_put_in_its_place(path: Path) -> None:
    config.current()
    other = path.with_name("new")
    other.write_text(CONFIG.replace("4000", "4001"))
    other.replace(path)
    assert config.current().litellm.base_url == "http://127.0.0.1:4001"


def test_it_sees_a_new_secret_in_a_file_of_its_own(path: Path) -> None:
    (path.parent / "key.txt").write_text("old-key\n")
    path.write_text(CONFIG.replace("fleet-key", "{file: key.txt}"))
    config.current()
    (path.parent / "key.txt").write_text("new-key\n")
    key = config.current().fleet.key
    assert key is not None and key.value() == "new-key"


def test_it_keeps_the_last_good_one_through_a_bad_edit(path: Path) -> None:
    good = config.current()
    path.write_text("fleet: [")
    for _ in range(2):
        with pytest.raises(ConfigErrors, match="config.yaml:2: not YAML"):
            config.current()
        assert config.last_good() is good
    path.write_text(CONFIG)
    assert config.current().hash == good.hash


def test_it_notices_that_a_missing_file_came(path: Path) -> None:
    models = path.with_name("models.yaml")
    models.unlink()
    with pytest.raises(ConfigErrors, match="no list of models"):
        config.current()
    assert config.last_good() is None
    models.write_text(MODELS)
    assert config.last_good() is config.current()


def test_it_notices_that_a_file_went(path: Path) -> None:
    good = config.current()
    path.unlink()
    with pytest.raises(ConfigErrors, match="there is no configuration"):
        config.current()
    assert config.last_good() is good


def test_it_never_takes_the_last_good_one_of_another_path(path: Path, tmp_path: Path, settings: Any) -> None:
    config.current()
    settings.LLMAO_CONFIG = tmp_path / "elsewhere" / "config.yaml"
    assert config.last_good() is None


def test_it_serves_many_threads(path: Path) -> None:
    seen: list[str] = []
    threads = [threading.Thread(target=lambda: seen.append(config.current().hash)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=10)
    assert len(seen) == 8 and len(set(seen)) == 1
