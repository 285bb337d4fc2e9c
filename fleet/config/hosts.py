"""`fleet.hosts`, and the lists that name servers as "host:listen_port"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from fleet.config.addresses import is_loopback, refused_because
from fleet.config.field import Field
from fleet.config.shape import HostRow
from reconcile.identity import canonical_host

EXAMPLE = "203.0.113.10: [[qwen3-8b, 8001]]"
ROW = "a row [model, listen_port], [model, listen_port, label] or [model, listen_port, label, public_port]"
_PORT = "a port, a number from 1 to 65535"
_SERVER = re.compile(r"(?P<host>\[[^\]]+\]|[^:\[\]]+):(?P<port>\d{1,5})")


@dataclass(frozen=True)
class Placed:
    """A row with the place of its model in the file, for what can only be said once models.yaml is read."""

    row: HostRow
    model: Field


def read(field: Field | None, *, allow_private: bool) -> list[Placed]:
    entries = field.entries(EXAMPLE) if field else {}
    seen: dict[str, int] = {}
    placed: list[Placed] = []
    for text, rows in entries.items():
        host = _host(text, rows, allow_private=allow_private)
        if host in seen:
            rows.wrong(f"is the same host as on line {seen[host]}: write its rows in one place")
        elif host:
            seen[host] = rows.line
            placed += _rows(host, rows)
    return placed


def servers(field: Field | None, *, allow_private: bool) -> frozenset[tuple[str, int]]:
    """A list of "host:listen_port"."""
    items = field.items('["203.0.113.10:8001"]') if field else []
    found = [_server(item, allow_private=allow_private) for item in items]
    return frozenset(server for server in found if server)


def _host(text: str, field: Field, *, allow_private: bool) -> str | None:
    try:
        host = canonical_host(text)
    except ValueError as error:
        field.wrong(str(error))
        return None
    if refused := refused_because(host):
        field.wrong(f"{host} {refused}: write the box's public address")
    elif is_loopback(host) and not allow_private:
        field.wrong(f"{host} is this machine itself: set fleet.allow_private_hosts: true if you mean it")
    else:
        return host
    return None


def _rows(host: str, field: Field) -> Iterator[Placed]:
    items = field.items(EXAMPLE)
    if not items and field.kind in ("list", "null"):
        field.wrong(f"names no server: write rows, as in {EXAMPLE}, or remove the host")
    if items and all(item.kind in ("text", "number", "null") for item in items):
        field.wrong(f"expected a list of rows, each in brackets of its own, as in {EXAMPLE}")
        return
    ports: dict[tuple[str, int], int] = {}
    for item in items:
        if placed := _row(host, item):
            _refuse_twice(item, placed.row, ports)
            yield placed


def _row(host: str, field: Field) -> Placed | None:
    parts = field.items("") if field.kind == "list" else []
    if not 2 <= len(parts) <= 4:
        field.wrong(f"expected {ROW}; found {len(parts)} in the brackets" if parts else f"expected {ROW}")
        return None
    model, port = parts[0].text("the name of a model"), parts[1].integer(_PORT, 1, 65535)
    label = parts[2].text("a label, or null") if len(parts) > 2 and parts[2].kind != "null" else ""
    pinned = parts[3].integer(_PORT, 1, 65535) if len(parts) > 3 and parts[3].kind != "null" else None
    if model is None or port is None:
        return None
    return Placed(HostRow(host=host, model=model, listen_port=port, label=label or "", public_port=pinned), parts[0])


def _refuse_twice(field: Field, row: HostRow, seen: dict[tuple[str, int], int]) -> None:
    named = {("listen port", row.listen_port)} | ({("public port", row.public_port)} if row.public_port else set())
    for what, port in sorted(named):
        if first := seen.get((what, port)):
            field.wrong(f"{what} {port} of {row.host} is already taken on line {first}: each row needs its own")
        seen.setdefault((what, port), field.line)


def _server(field: Field, *, allow_private: bool) -> tuple[str, int] | None:
    match = _SERVER.fullmatch(str(field.node.value).strip()) if field.kind in ("text", "odd") else None
    if match is None or not 1 <= int(match["port"]) <= 65535:
        field.expected('"host:listen_port", as in "203.0.113.10:8001" or "[2001:db8::1]:8001"')
        return None
    host = _host(match["host"], field, allow_private=allow_private)
    return (host, int(match["port"])) if host else None
