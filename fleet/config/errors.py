"""What is wrong with the configuration, in sentences: where it stands, what it is, what was expected."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class ConfigError:
    """One mistake. `file` is the file's name, `line` counts from 1 (None: the whole file), `key` is the path of the
    value inside the file ("" for the file itself). `absent`: there is no config.yaml at all. No part holds a secret."""

    file: str
    line: int | None
    key: str
    sentence: str
    absent: bool = False

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        return f"{place}: {self.key}: {self.sentence}" if self.key else f"{place}: {self.sentence}"


class ConfigErrors(Exception):
    """Everything that is wrong, at once, in the order of the files. `str()` is one line a mistake."""

    def __init__(self, errors: Iterable[ConfigError]) -> None:
        self.errors = tuple(errors)
        super().__init__("\n".join(str(error) for error in self.errors))

    @property
    def message(self) -> str:
        return str(self)
