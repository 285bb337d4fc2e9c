"""Imports point down only, and the core imports nothing that acts, waits, or differs from one call to the next."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PURE = {
    "__future__", "collections", "dataclasses", "enum", "functools", "hashlib", "hmac", "ipaddress", "itertools",
    "json", "math", "re", "typing", "urllib.parse", "uuid",
}  # fmt: skip
LIBRARIES = {"msgspec"}
IMPURE_CALLS = {"uuid.uuid1", "uuid.uuid4", "uuid4", "uuid1", "open", "input", "print", "exec", "eval", "__import__"}
FORBIDDEN_WORDS = {"utils", "helpers", "common", "manager", "service", "handler"}


def imported(tree: ast.AST) -> Iterator[str]:
    """Every module that a file imports, by its full name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "an import says its whole name"
            yield node.module or ""


def called(tree: ast.AST) -> Iterator[str]:
    return (ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call))


def impurities(source: str) -> list[str]:
    """What a file of the core may not hold: imports outside the allow-list, and calls that act or are random."""
    tree = ast.parse(source)
    allowed = PURE | LIBRARIES
    bad = [name for name in imported(tree) if name not in allowed and name.split(".")[0] not in {*allowed, "reconcile"}]
    return bad + [name for name in called(tree) if name in IMPURE_CALLS]


def sources(*folders: str) -> list[Path]:
    return [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]


def test_it_keeps_every_import_contract() -> None:
    lint = Path(sys.executable).with_name("lint-imports")
    run = subprocess.run([lint, "--no-cache"], cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "0 broken" in run.stdout


@pytest.mark.parametrize("path", sources("reconcile"), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_it_keeps_the_core_pure(path: Path) -> None:
    assert impurities(path.read_text()) == []


@pytest.mark.parametrize(
    "source",
    ["import time", "from datetime import datetime", "import urllib.request", "from django.db import models",
     "import uuid\nuuid.uuid4()", "print('x')", "from fleet import models", "import random"],
)  # fmt: skip
def test_it_notices_an_impurity(source: str) -> None:
    assert impurities(source) != []


@pytest.mark.parametrize(
    "source", ["import hashlib, hmac", "from urllib.parse import urlsplit", "import reconcile.view"]
)
def test_it_allows_what_is_pure(source: str) -> None:
    assert impurities(source) == []


@pytest.mark.parametrize("folder", ["reconcile", "litellm_sync", "fleet", "llmao_site", "sim"])
def test_it_names_files_by_the_words_of_the_field(folder: str) -> None:
    vague = [path.name for path in sources(folder) if FORBIDDEN_WORDS & set(path.stem.split("_"))]
    assert vague == []


@pytest.mark.parametrize("folder", ["reconcile", "litellm_sync", "fleet", "llmao_site", "sim"])
def test_it_keeps_files_and_functions_short(folder: str) -> None:
    assert [line for path in sources(folder) if "migrations" not in path.parts for line in too_long(path)] == []


def too_long(path: Path) -> Iterator[str]:
    text = path.read_text()
    if text.count("\n") > 300:
        yield f"{path.relative_to(ROOT)} has more than 300 lines"
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if lines > 50:
                yield f"{path.relative_to(ROOT)}: {node.name} has {lines} lines"
