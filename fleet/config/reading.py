"""Both files read, each mistake noted, and a `Config` only when there is none."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from pathlib import Path

from fleet.config import hosts, models, sections, tree
from fleet.config.errors import ConfigError, ConfigErrors
from fleet.config.field import Field
from fleet.config.files import Files, Unreadable
from fleet.config.report import Report
from fleet.config.shape import Config

MODELS = ("models",)


def load(path: Path, files: Files | None = None) -> Config:
    """The configuration at `path` with its models.yaml. Raises ConfigErrors with every mistake of both files.

    `files` remembers what was read, so that the caller can tell when to read again.
    """
    files = files or Files()
    report = Report(path.name, path.parent, files)
    if not path.exists():
        files.note(path)
        raise ConfigErrors([ConfigError(path.name, None, "", _no_config(path), absent=True)])
    top = _top(report, path, "went away while it was read", sections.SECTIONS, sections.KNOWN)
    read = sections.read(report, top) if top is not None else None
    models_path = _models_path(path, (top or {}).get("models_path"))
    placed = _models(Report(models_path.name, models_path.parent, files), models_path, report)
    if read is None or placed is None:
        raise ConfigErrors(_in_order(report.errors))
    _check_models(read.placed, placed)
    if report.errors:
        raise ConfigErrors(_in_order(report.errors))
    return _config(read, placed)


def _config(read: sections.Sections, placed: list[models.Placed]) -> Config:
    return Config(
        fleet=read.fleet,
        litellm=read.litellm,
        policy=read.policy,
        trusted_proxies=read.trusted_proxies,
        models=tuple(each.row for each in placed),
    )


def _models(report: Report, path: Path, both: Report) -> list[models.Placed] | None:
    """The rows of models.yaml, None when it cannot be read at all; its mistakes go to `both` as well."""
    top = _top(report, path, _no_models(path), MODELS, {})
    placed = models.read(report, top) if top is not None else None
    both.errors += report.errors
    return placed


def _top(
    report: Report, path: Path, absent: str, known: tuple[str, ...], inner: dict[str, tuple[str, ...]]
) -> dict[str, Field] | None:
    """The top-level fields of a file by name, None when it has none that can be read; `inner`: keys of the sections."""
    try:
        root = tree.parse(report.files.read(path))
    except Unreadable as error:
        report.add(None, "", error.sentence if path.exists() else absent)
        return None
    except tree.NotYaml as error:
        report.add(error.line, "", error.sentence)
        return None
    if root is None:
        report.add(None, "", f"is empty; expected {', '.join(f'{name}:' for name in known)} at the left margin")
        return None
    for line, sentence in tree.unfold(root):
        report.add(line, "", sentence)
    field = Field(report, "", root, tree.line_of(root))
    if field.kind != "mapping":
        field.wrong(f"expected a mapping, with {', '.join(f'{name}:' for name in known)} at the left margin")
        return None
    return field.known(known, f"{known[0]}: …", {key: name for name, keys in inner.items() for key in keys})


def _no_config(path: Path) -> str:
    return (
        f"there is no configuration at {path}: copy config.example.yaml there and edit it,"
        " or name another file in the environment variable LLMAO_CONFIG"
    )


def _no_models(path: Path) -> str:
    return (
        f"there is no list of models at {path}: copy models.example.yaml there and edit it,"
        " or name another file in models_path of config.yaml"
    )


def _models_path(config: Path, field: Field | None) -> Path:
    text = field.text("the path of models.yaml", longest=4000) if field and field.kind != "null" else None
    return config.parent / (Path(text).expanduser() if text else "models.yaml")


def _check_models(placed: Iterable[hosts.Placed], known: list[models.Placed]) -> None:
    """Every model that a host names has to be there, and to be one that a box can run."""
    boxes = {each.row.name for each in known if each.row.self_hosted}
    every = {each.row.name for each in known}
    for each in placed:
        name = each.row.model
        if name in boxes:
            continue
        if name in every:
            each.model.wrong(f"{name} is not self-hosted in models.yaml, so no box can run it")
            continue
        near = difflib.get_close_matches(name, sorted(boxes), n=1, cutoff=0.5)
        each.model.wrong(f"models.yaml has no model {name}" + (f"; did you mean {near[0]}?" if near else ""))


def _in_order(errors: Iterable[ConfigError]) -> list[ConfigError]:
    """File by file in the order read, then by line."""
    errors = list(errors)
    files = list(dict.fromkeys(error.file for error in errors))
    return sorted(errors, key=lambda error: (files.index(error.file), error.line or 0))
