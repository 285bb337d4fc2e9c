"""Where a secret comes from: the file itself, a variable of the environment, or a file of its own."""

from __future__ import annotations

import os
import re
from pathlib import Path

import yaml

from fleet.config import scalar
from fleet.config.files import Unreadable
from fleet.config.report import Report
from fleet.config.secret import Secret

MAX_BYTES = 64_000
EXPECTED = "expected a secret: text, {env: NAME} or {file: PATH}"


class Bad(Exception):
    """`sentence` says what is wrong with a secret, and holds no part of it."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence)
        self.sentence = sentence


def read(node: yaml.Node, report: Report, *, one_line: bool) -> Secret:
    """Raises Bad. `one_line` also refuses what cannot stand in an HTTP header."""
    if isinstance(node, yaml.MappingNode):
        value, origin = _named(node, report)
    else:
        value, origin = _written(node), ""
    if not value:
        raise Bad(f"{origin}is empty; {EXPECTED}")
    if one_line and not re.fullmatch(r"[!-~]+", value):
        raise Bad(f"{origin}holds a blank, a line break or a letter beyond ASCII: a key has none")
    return Secret(value)


def names_a_secret(node: yaml.Node) -> bool:
    """Whether a value has the form `{env: …}` or `{file: …}`."""
    return isinstance(node, yaml.MappingNode) and [key.value for key, _ in node.value] in (["env"], ["file"])


def _written(node: yaml.Node) -> str:
    if not isinstance(node, yaml.ScalarNode):
        raise Bad(EXPECTED)
    if scalar.kind(node) == "null":
        return ""
    if scalar.kind(node) != "text":
        raise Bad("YAML reads this as a number or another word: put the secret in quotes")
    return str(node.value)


def _named(node: yaml.MappingNode, report: Report) -> tuple[str, str]:
    """(value, what to call it in a sentence)."""
    if not names_a_secret(node) or not isinstance(node.value[0][1], yaml.ScalarNode):
        raise Bad(EXPECTED)
    way, name = node.value[0][0].value, str(node.value[0][1].value)
    return _variable(name) if way == "env" else _file(name, report)


def _variable(name: str) -> tuple[str, str]:
    if name not in os.environ:
        # Somebody may have put the secret itself here: only what looks like a variable is repeated.
        shown = name if re.fullmatch(r"[A-Z_][A-Z0-9_]{0,63}", name) else "of the name written here"
        raise Bad(f"the environment has no variable {shown}: set it, or write {{file: PATH}}")
    return os.environ[name], f"the variable {name} "


def _file(name: str, report: Report) -> tuple[str, str]:
    path = report.folder / Path(name).expanduser()
    try:
        return report.files.read(path, MAX_BYTES).rstrip("\r\n"), f"the file {path} "
    except Unreadable as error:
        raise Bad(error.sentence) from error
