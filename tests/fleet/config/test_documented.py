"""docs/configuration.md names every key, with the default that the program has."""

import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from fleet.config import models, sections
from fleet.config.shape import Fleet, LiteLLM, Policy

TEXT = (Path(__file__).parents[3] / "docs" / "configuration.md").read_text(encoding="utf-8")


def rows(heading: str) -> dict[str, str]:
    """Key → the cell behind it, of the table under a heading."""
    part = TEXT.split(f"\n{heading}\n")[1].split("\n#")[0]
    found: dict[str, str] = {}
    for keys, cell in re.findall(r"^\| (`[^|]*`|.*…) \| ([^|]+) \|", part, re.MULTILINE):
        found.update(dict.fromkeys(re.findall(r"`(\w+)`", keys), cell))
    return found


@pytest.mark.parametrize(
    ("heading", "keys"),
    [("### fleet", sections.KNOWN["fleet"]), ("### litellm", sections.KNOWN["litellm"]),
     ("### policy", sections.KNOWN["policy"]), ("## models.yaml", (*models.STRUCTURE, *models.DISPLAY))],
)  # fmt: skip
def test_it_names_every_key_and_no_other(heading: str, keys: tuple[str, ...]) -> None:
    assert sorted(rows(heading)) == sorted(keys)


@pytest.mark.parametrize(("heading", "shape"), [("### fleet", Fleet), ("### litellm", LiteLLM), ("### policy", Policy)])
def test_it_tells_the_defaults_of_the_program(heading: str, shape: Any) -> None:
    told = rows(heading)
    for field in fields(shape):
        if isinstance(field.default, int | float | str):
            default = str(field.default).lower() if isinstance(field.default, bool) else str(field.default)
            assert told[field.name].strip("`") == default, field.name


def test_it_shows_sentences_that_the_program_says(tmp_path: Path) -> None:
    cases = "".join(path.read_text() for path in (Path(__file__).parent / "cases").glob("*.yaml"))
    for sentence in re.findall(r"^      \w+\.yaml:\d+: \S+: (.+)$", TEXT, re.MULTILINE):
        assert re.sub(r"found \d+", "found", sentence) in re.sub(r"found \d+", "found", cases).replace("''", "'")
