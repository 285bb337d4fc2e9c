"""One YAML scalar as a Python value. YAML 1.1 reads `on`, `12:30` and `010` as something else than people mean."""

from __future__ import annotations

import math
import re
from typing import Literal

import yaml

Kind = Literal["null", "boolean", "number", "text", "odd"]
_TAG = "tag:yaml.org,2002:"
_NUMBER = re.compile(r"[-+]?(0|[1-9]\d{0,17})(\.\d*)?([eE][-+]?\d{1,3})?")
_TRUE = ("true", "yes", "on")


def kind(node: yaml.ScalarNode) -> Kind:
    """`odd` is what YAML reads as another thing than it looks: octal and base-60 numbers, an unknown tag."""
    name = node.tag.removeprefix(_TAG)
    if name in ("int", "float", "str") and not node.style and _NUMBER.fullmatch(node.value):
        return "number"  # also 1e-7, which YAML 1.1 takes for text
    if name in ("str", "timestamp", "value"):
        return "text"
    return {"null": "null", "bool": "boolean"}.get(name, "odd")  # type: ignore[return-value]


def value(node: yaml.Node) -> str | int | float | bool | None:
    """The value of a scalar; None for what is no scalar, for nothing, for an odd one, and for a number too large."""
    found = kind(node) if isinstance(node, yaml.ScalarNode) else None
    if found == "boolean":
        return boolean(node)
    if found == "number":
        return _number(str(node.value))
    return str(node.value) if found == "text" else None


def _number(text: str) -> int | float | None:
    if re.fullmatch(r"[-+]?\d+", text):
        return int(text)
    number = float(text)
    return number if math.isfinite(number) else None


def boolean(node: yaml.Node) -> bool:
    return str(node.value).lower() in _TRUE


def described(node: yaml.Node) -> str:
    """What was found, for a sentence. Only for values that are no secret."""
    if not isinstance(node, yaml.ScalarNode):
        return "a mapping" if isinstance(node, yaml.MappingNode) else "a list"
    if kind(node) == "null":
        return "nothing"
    value = str(node.value)
    shown = value if len(value) <= 60 else value[:57] + "…"
    return f"the text {shown!r}" if kind(node) == "text" else shown
