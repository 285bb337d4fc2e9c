"""YAML text as a tree of nodes that know their lines; and what is wrong with the text, in sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import yaml

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the C one reads 500 hosts ten times as fast
_CONSTRUCTOR = yaml.constructor.SafeConstructor()
MAX_NODES = 500_000  # aliases may unfold a small file into an endless one
MAX_DEPTH = 60


class NotYaml(Exception):
    """Text that is no usable YAML: the line (from 1, None when unknown) and a sentence without any of its values."""

    def __init__(self, line: int | None, sentence: str) -> None:
        super().__init__(sentence)
        self.line = line
        self.sentence = sentence


def parse(text: str) -> yaml.Node | None:
    """The root node, or None for an empty file. Raises NotYaml. `<<` stands in it as written: see `unfold`."""
    try:
        root = _composed(text)
        if root is not None:
            _measure(root)
    except yaml.reader.ReaderError as error:
        raise NotYaml(text.count("\n", 0, error.position) + 1, "a control character; remove it") from error
    except yaml.MarkedYAMLError as error:
        raise NotYaml(_line(error), _sentence(error, text)) from error
    return root


def unfold(root: yaml.Node) -> list[tuple[int, str]]:
    """Put what `<<: *other` names in its place in every mapping below `root`; (line, sentence) of what is wrong."""
    return list(_unfold(root, set()))


def _unfold(node: yaml.Node, seen: set[int]) -> Iterator[tuple[int, str]]:
    # An alias is the node that it names. Once unfolded, that one may hold a key of its own beside a merged one.
    if id(node) in seen:
        return
    seen.add(id(node))
    if isinstance(node, yaml.MappingNode):
        yield from _repeated(node)
    for child in _children(node):
        yield from _unfold(child, seen)
    if isinstance(node, yaml.MappingNode):
        try:
            _CONSTRUCTOR.flatten_mapping(node)
        except yaml.MarkedYAMLError:
            yield line_of(node), "<<: takes a mapping, as in <<: *name"


def _repeated(node: yaml.MappingNode) -> Iterator[tuple[int, str]]:
    """Names what is written twice, and leaves the first in the mapping."""
    first: dict[str, yaml.Node] = {}
    for pair in list(node.value):
        key = pair[0]
        if isinstance(key, yaml.ScalarNode) and first.setdefault(key.value, key) is not key:
            node.value.remove(pair)
            at = line_of(first[key.value])
            where = "earlier on the same line" if at == line_of(key) else f"first on line {at}"
            yield line_of(key), f"the key {key.value!r} is written a second time ({where})"


def line_of(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1


def _composed(text: str) -> yaml.Node | None:
    loader = _LOADER(text)
    try:
        root: yaml.Node | None = loader.get_single_node()
        return root
    finally:
        loader.dispose()


def _measure(root: yaml.Node) -> None:
    """Refuse what unfolds without end. An alias that contains itself never ends, so it is caught here too."""
    waiting, seen = [(root, 1)], 0
    while waiting:
        node, depth = waiting.pop()
        seen += 1
        if seen > MAX_NODES or depth > MAX_DEPTH:
            raise NotYaml(line_of(node), "nested too deep, or an alias (*) that unfolds into too much")
        waiting += [(child, depth + 1) for child in _children(node)]


def _children(node: yaml.Node) -> list[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        return [part for pair in node.value for part in pair]
    return list(node.value) if isinstance(node, yaml.SequenceNode) else []


def _line(error: yaml.MarkedYAMLError) -> int | None:
    mark = error.problem_mark or error.context_mark
    return int(mark.line) + 1 if mark else None


def _sentence(error: yaml.MarkedYAMLError, text: str) -> str:
    problem = error.problem or "it cannot be read"
    met = _met(error, text)
    if met == "\t":
        return "a tab: YAML is indented with blanks"
    if "cannot start any token" in problem:
        return f"a value begins with {met}: put it in quotes"
    if "undefined alias" in problem or "did not find expected alphabetic" in problem:
        return "a value begins with * or &: put it in quotes"
    if "second occurrence" in problem or "duplicate anchor" in problem:
        return "a value begins with & like an earlier one: put it in quotes"
    if "single document" in (error.context or "") or "another document" in problem:
        return "a second document begins here (a line ---): one file is one document"
    if "mapping values are not allowed" in problem:
        return "a colon where none can be: put a value that holds one in quotes, or check the indentation"
    # PyYAML quotes what it met, and that may be a secret; a single character is none.
    return "not YAML: " + re.sub(r"(['\"<]).{3,}[\1>]", "something", problem)


def _met(error: yaml.MarkedYAMLError, text: str) -> str:
    """The character that stopped the parser."""
    mark = error.problem_mark
    lines = text.split("\n")
    line = lines[mark.line] if mark and mark.line < len(lines) else ""
    return line[mark.column : mark.column + 1] if mark else ""
