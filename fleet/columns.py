"""Aligned text for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def columns(rows: Iterable[Sequence[str]], indent: str = "  ") -> list[str]:
    """The rows with every column but the last as wide as its widest cell; two spaces between."""
    table = [[str(cell) for cell in row] for row in rows]
    widths = [max(len(cell) for cell in column) for column in zip(*table, strict=True)]
    return [
        (indent + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))).rstrip()
        for row in table
    ]


def titled(title: str, lines: Sequence[str], empty: str = "none") -> list[str]:
    """A block with a heading that counts it, and a blank line before."""
    return ["", f"{title} ({len(lines)})" if lines else f"{title}: {empty}", *lines]
