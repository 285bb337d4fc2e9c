"""What reading one file has found wrong so far; reading goes on, so that an admin sees everything at once."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from fleet.config.errors import ConfigError
from fleet.config.files import Files


@dataclass
class Report:
    """The mistakes of one file. `folder` is where relative paths in it start."""

    file: str
    folder: Path
    files: Files
    errors: list[ConfigError] = field(default_factory=list)

    def add(self, line: int | None, key: str, sentence: str) -> None:
        error = ConfigError(self.file, line, key, sentence)
        if error not in self.errors:
            self.errors.append(error)
