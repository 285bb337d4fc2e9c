"""One value of a file, with where it stands: each reader returns the value, or reports what is wrong and returns None.

A value that stands where a secret can stand is never repeated in a sentence.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import yaml

from fleet.config import scalar, secret_source
from fleet.config.report import Report
from fleet.config.secret import Secret
from fleet.config.tree import line_of


@dataclass(frozen=True)
class Field:
    """`line` is where its key stands, or the value itself in a list."""

    report: Report
    key: str
    node: yaml.Node
    line: int

    def wrong(self, sentence: str) -> None:
        self.report.add(self.line, self.key, sentence)

    def expected(self, what: str, *, hidden: bool = False) -> None:
        """`hidden`: the value might be a secret, so only its kind is named."""
        found = self.kind if hidden else scalar.described(self.node)
        self.wrong(f"expected {what}; found {'a ' * hidden}{found}")

    @property
    def kind(self) -> str:
        """mapping, list, or the kind of the scalar."""
        if isinstance(self.node, yaml.ScalarNode):
            return scalar.kind(self.node)
        return "mapping" if isinstance(self.node, yaml.MappingNode) else "list"

    def entries(self, example: str) -> dict[str, Field]:
        """The fields of a mapping by key; nothing written counts as an empty one. Values may be secrets."""
        if self.kind == "null":
            return {}
        if not isinstance(self.node, yaml.MappingNode):
            self.expected(f"a mapping, as in {example}", hidden=self.kind != "list")
            return {}
        return {key.value: self._child(key, value) for key, value in self.node.value if self._is_key(key)}

    def items(self, example: str) -> list[Field]:
        """The entries of a list; nothing written counts as an empty one."""
        if self.kind == "null":
            return []
        if not isinstance(self.node, yaml.SequenceNode):
            self.expected(f"a list, as in {example}", hidden=self.kind != "mapping")
            return []
        entries = enumerate(self.node.value)
        return [Field(self.report, f"{self.key}[{index}]", node, line_of(node)) for index, node in entries]

    def known(self, keys: Collection[str], example: str, elsewhere: dict[str, str] | None = None) -> dict[str, Field]:
        """`entries`, with every key that is not in `keys` reported."""
        entries = self.entries(example)
        for key in [key for key in entries if key not in keys]:
            entries[key].wrong(unknown_key(key, keys, elsewhere or {}))
        return {key: field for key, field in entries.items() if key in keys}

    def text(self, what: str, longest: int = 200) -> str | None:
        """One line of text that is not empty."""
        value = str(self.node.value).strip() if self.kind == "text" else ""
        if self.kind in ("number", "boolean", "odd"):
            self.wrong(f"expected {what}; YAML reads {self.node.value} as a number or another word: put it in quotes")
        elif not value:
            self.expected(what)
        elif len(value) > longest or not value.isprintable():
            self.wrong(f"expected {what}; found more than {longest} letters, or a line break among them")
        else:
            return value
        return None

    def number(self, what: str, low: float, high: float, *, above: bool = False) -> float | None:
        """A number from `low` to `high`; `above`: greater than `low`."""
        value = scalar.value(self.node) if self.kind == "number" else None
        if not isinstance(value, int | float) or not low <= value <= high or (above and value == low):
            self.expected(what)
            return None
        return float(value)

    def integer(self, what: str, low: int, high: int) -> int | None:
        value = scalar.value(self.node) if self.kind == "number" else None
        if not isinstance(value, int) or not low <= value <= high:
            self.expected(what)
            return None
        return value

    def boolean(self) -> bool | None:
        if isinstance(self.node, yaml.ScalarNode) and self.kind == "boolean":
            return scalar.boolean(self.node)
        self.expected("true or false")
        return None

    def choice(self, options: tuple[str, ...]) -> str | None:
        if self.kind == "text" and self.node.value in options:
            return str(self.node.value)
        self.expected(" or ".join(options))
        return None

    def secret(self, *, one_line: bool = True) -> Secret | None:
        """A secret by value, `{env: NAME}` or `{file: PATH}`; `one_line`: it goes into a header."""
        try:
            return secret_source.read(self.node, self.report, one_line=one_line)
        except secret_source.Bad as error:
            self.wrong(error.sentence)
            return None

    def data(self) -> Any:
        """The value as plain Python: a free-form part, in which no secret stands."""
        if secret_source.names_a_secret(self.node):
            self.wrong("callers can read this: no secret can stand here")
            return None
        if isinstance(self.node, yaml.MappingNode):
            return {key: field.data() for key, field in self.entries("{key: value}").items()}
        if isinstance(self.node, yaml.SequenceNode):
            return [field.data() for field in self.items("[…]")]
        value = scalar.value(self.node)
        if value is None and self.kind != "null":
            self.wrong("YAML reads this as something else than it looks: put it in quotes")
        return value

    def _child(self, key: yaml.Node, value: yaml.Node) -> Field:
        path = f"{self.key}.{key.value}" if self.key else str(key.value)
        return Field(self.report, path, value, line_of(key))

    def _is_key(self, key: yaml.Node) -> bool:
        if isinstance(key, yaml.ScalarNode):
            return True
        self.report.add(line_of(key), self.key, "a key is one word, not a list or a mapping")
        return False


def unknown_key(key: str, known: Collection[str], elsewhere: dict[str, str]) -> str:
    """The sentence for a key that is not in `known`; `elsewhere` says in which section a key would be right."""
    if key in elsewhere:
        return f"does not belong here: write it under {elsewhere[key]}"
    near = difflib.get_close_matches(key, known, n=1, cutoff=0.5)
    return f"unknown key; did you mean {near[0]}?" if near else f"unknown key; known here: {', '.join(known)}"
