"""Writes docs/decision-table.md from the scenario files: `python -m tests.reconcile.table` (or `make docs`).

A line is one scenario: what is given (its title), the verdicts reached and what was planned, step after step.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from reconcile.view import Action, Record
from tests.reconcile.scenario import Scenario, files, read
from tests.reconcile.stage import Turn, played

DOCUMENT = Path(__file__).parents[2] / "docs" / "decision-table.md"
ROW = re.compile(r"R\d\d")
ROWS = tuple(f"R{number:02}" for number in range(1, 71))
HEAD = """# What llmao decides

Each line is one scenario of [`tests/reconcile/cases`](../tests/reconcile/cases): what was read, the verdicts, and what
was planned. Every one of them is run in `make test`. "→" is what came next; "none" in the plan means that nothing was
sent and nothing waited to be. A write without a word behind it is sent at once; the others wait: *held* for LiteLLM's
own opinion of the row, *settling* until every replica must know it, *backing off* and *parked* after refusals, *needs
human* for an Approve, *observed* in `policy.mode: observe`.

This file is written by `make docs` from the scenarios; change those.
"""
COLUMNS = "| scenario | verdict | plan |\n|---|---|---|\n"


def document() -> str:
    """The whole file."""
    found = [(path, read(path.read_bytes())) for path in files()]
    return HEAD + "".join(_section(row, found) for row in (*ROWS, *_other(found)))


def _other(found: Iterable[tuple[Path, Scenario]]) -> list[str]:
    """The sections, design chapters and laws that files are named after, in their order."""
    named = {entry for path, each in found for entry in each.table if path.stem.startswith(f"{entry}-")}
    return sorted(entry for entry in named if not ROW.fullmatch(entry))


def _section(row: str, found: Iterable[tuple[Path, Scenario]]) -> str:
    """A row's scenarios: all that show it, those named after it first. Of what is no row, only those named after it."""
    own = [(path, each) for path, each in found if path.stem.startswith(f"{row}-")]
    also = [(path, each) for path, each in found if row in each.table and (path, each) not in own and row in ROWS]
    lines = "".join(_line(path, each) for path, each in (*own, *also))
    return f"\n## {_heading(row)}\n\n{COLUMNS}{lines}"


def _heading(row: str) -> str:
    kind, _, number = row.partition("-")
    return {"design": f"Design, chapter {number}", "law": f"Law {number}"}.get(kind, row)


def _line(path: Path, scenario: Scenario) -> str:
    turns = played(path)
    verdicts, plans = _in_turn(map(_verdicts, turns)), _in_turn(map(_plan, turns))
    title = scenario.title.replace("|", "\\|")
    return f"| [{title}](../tests/reconcile/cases/{path.name}) | {verdicts} | {plans} |\n"


def _in_turn(told: Iterable[str]) -> str:
    """What is told step after step, each change once."""
    steps: list[str] = []
    for each in told:
        if not steps or steps[-1] != each:
            steps.append(each)
    return " → ".join(steps)


def _verdicts(turn: Turn) -> str:
    """The distinct verdicts on what is wanted or discovered; on rows of nobody where there is nothing else."""
    records = turn.decision.view.records
    wanted = [each for each in records if each.origin != "none"] or records
    return "; ".join(dict.fromkeys(map(_verdict, wanted))) or "nothing to judge"


def _verdict(record: Record) -> str:
    marks = [mark for mark, stands in (("unlisted", record.unlisted), ("drained", record.drained)) if stands]
    origin = ["discovered"] if record.origin == "discovered" else []
    return ", ".join([record.lifecycle, *record.skew, *marks, *origin])


def _plan(turn: Turn) -> str:
    return ", ".join(_counted(map(_write, turn.decision.plan.actions))) or "none"


def _write(action: Action) -> str:
    waiting = "" if action.status == "ready" else f" ({action.status.replace('_', ' ')})"
    return f"`{action.kind}`{waiting}"


def _counted(told: Iterable[str]) -> Iterator[str]:
    """Each once, with its number where there are several."""
    writes = list(told)
    for each in dict.fromkeys(writes):
        several = writes.count(each)
        yield f"{several} × {each}" if several > 1 else each


if __name__ == "__main__":
    DOCUMENT.write_text(document(), encoding="utf-8")
