"""Generated scenarios: small fleets that mostly behave, told in the words of a scenario file.

Boxes go down for a while and come back, ports move, rows are edited, removed and doubled, sources fail, llmao is
restarted. One number makes one world, so a world that breaks a law can be made again and kept as a file.
"""

from __future__ import annotations

from random import Random
from typing import Any

import msgspec
from hypothesis import strategies as st

from tests.reconcile.scenario import Scenario

HOSTS = ("203.0.113.10", "203.0.113.20")
SERVERS = tuple(f"{host}:{port} {model}" for host in HOSTS for port, model in ((8001, "big"), (8003, "small")))
GPT = {"name": "gpt-x", "base": "https://api.acme.example/v1", "provider": "acme"}
BOUGHT = "acme/gpt-x"
ORPHAN = "203.0.113.30:8001/small"
MOODS = ("ok",) * 6 + ("refused", "timeout") * 3 + ("health 503", "open", "401", "page", "lists other", "lists big")
STATES = ("",) * 20 + ("unread", "stale", "failed", "failed and stale")
EDITS: tuple[dict[str, Any], ...] = (
    {"name": "other"},
    {"llmao_key": None},
    {"llmao_body": None},
    {"id": "copied"},
    {"api_base": "http://203.0.113.10:8001/v1"},
    {"db_model": False},
    {"llmao_key": None, "llmao_body": None, "id": "theirs"},
)
SETTINGS: dict[str, tuple[Any, ...]] = {
    "health_fail_threshold": (1, 2, 3, 3),
    "orphan_passes": (1, 3),
    "keep_last_row": (False, False, True),
    "opinion_wait_s": (0.5, 30, 300),
    "mode": ("act", "act", "act", "observe"),
}


def key_of(server: str) -> str:
    return server.replace(" ", "/")


def _id_of(row: dict[str, Any]) -> str:
    return str(row.get("changed", {}).get("id") or row.get("id") or row["of"])


def worlds() -> st.SearchStrategy[Scenario]:
    return st.integers(min_value=0, max_value=2**32).map(world)


def world(number: int) -> Scenario:
    fleet = Boxes(Random(number))
    told = {"title": f"generated world {number}", "table": ["H"], "given": fleet.first(), "expect": {}}
    steps = [fleet.step() for _ in range(fleet.chance.randrange(2, 12))]
    return msgspec.convert({**told, "then": steps}, Scenario, str_keys=True)


class Boxes:
    """The boxes as they really are, and what is read of them."""

    def __init__(self, chance: Random) -> None:
        self.chance = chance
        self.servers = [each for each in SERVERS if self.happens(0.7)]
        self.ports = {each: 40001 + number for number, each in enumerate(SERVERS)}
        self.moods = dict.fromkeys(SERVERS, "ok")

    def happens(self, share: float) -> bool:
        return self.chance.random() < share

    def first(self) -> dict[str, Any]:
        return {
            "servers": self.servers,
            "models": [GPT],
            "history": {"began_s_ago": 0},
            "settings": {name: self.chance.choice(values) for name, values in SETTINGS.items() if self.happens(0.4)},
            **self.readings(),
            "rows": self.rows(),
        }

    def step(self) -> dict[str, Any]:
        """The clock moves on, some boxes change, and each source tells of it or stays as it was."""
        for server in SERVERS:
            if self.happens(0.15):
                self.moods[server] = self.chance.choice(MOODS)
            if self.happens(0.03):
                self.ports[server] += 100
        given = self.readings()
        if self.happens(0.15):
            given["rows"] = self.rows()
        if self.happens(0.05):
            given["servers"] = [each for each in self.servers if self.happens(0.8)]
        if self.happens(0.15):
            given["attempts"] = self.attempts()
        if self.happens(0.2):
            given["kept"] = [self.chance.choice(("vllm", "deployments"))]
        after_s = self.chance.choice((15, 15, 15, 15, 14, 2, 60, 300))
        return {"after_s": after_s, "restart": self.happens(0.04), "given": given}

    def readings(self) -> dict[str, Any]:
        names = ("vllm", "deployments", "intended", "litellm_health", "vast")
        asked = [each for each in SERVERS if self.happens(0.7)]
        return {
            "listings": {"vast": self.listed(), **({"runpod": []} if self.happens(0.5) else {})},
            "probes": [self.probe(each) for each in SERVERS if self.happens(0.95)],
            "opinions": [self.opinion(key_of(each), self.moods[each]) for each in asked] + [self.opinion(BOUGHT, "ok")],
            "config": [{"host": each} for each in HOSTS if self.happens(0.3)],
            "sources": {name: self.chance.choice(STATES) for name in names},
        }

    def listed(self) -> list[dict[str, Any]]:
        return [
            {
                "id": f"900{number}{1 if self.happens(0.03) else 0}",
                "host": host,
                "status": "exited" if self.happens(0.05) else "running",
                "ports": {each.split()[0].split(":")[1]: self.ports[each] for each in SERVERS if each.startswith(host)},
            }
            for number, host in enumerate((*HOSTS, HOSTS[0]) if self.happens(0.05) else HOSTS)
            if self.happens(0.9)
        ]

    def place(self, server: str) -> str:
        return f"{server.partition(':')[0]}:{self.ports[server]}"

    def probe(self, server: str) -> dict[str, Any]:
        of = server.split(maxsplit=1)[0]
        at = of if self.happens(0.05) else self.place(server)
        return {"of": of, "at": at, "says": self.moods[server], "age_s": self.chance.choice((1, 1, 1, 1, 0.5, 50, -10))}

    def opinion(self, name: str, mood: str) -> dict[str, Any]:
        says = "up" if mood == "ok" else "down"
        says = self.chance.choice((says, says, says, "up", "unknown"))
        return {"of": name, "says": says, "age_s": self.chance.choice((0, 0, 5, 40))}

    def rows(self) -> list[dict[str, Any]]:
        """Mostly the rows that should be there; some edited, doubled, left over, or somebody else's."""
        names = [BOUGHT if self.happens(0.7) else "", ORPHAN if self.happens(0.4) else ""]
        own: list[dict[str, Any]] = [{"of": name} for name in names if name]
        own += [{"of": key_of(each), "at": self.place(each)} for each in SERVERS if self.happens(0.85)]
        found = [{**each, "changed": self.chance.choice(EDITS)} if self.happens(0.1) else each for each in own]
        found += [self.foreign()] if self.happens(0.4) else []
        return list(
            {each.get("changed", {}).get("id") or each.get("id") or each["of"]: each for each in found}.values()
        )

    def foreign(self) -> dict[str, Any]:
        bases = (None, "https://api.acme.example", "http://[broken", f"http://{self.place(SERVERS[0])}/v1")
        name = self.chance.choice(("big", "small", "gpt-x", "else"))
        return {"id": "foreign", "name": name, "api_base": self.chance.choice(bases), "config_file": self.happens(0.5)}

    def attempts(self) -> list[dict[str, Any]]:
        kinds = ("add_litellm", "update_litellm", "delete_litellm", "prune_orphan")
        names = [*map(key_of, SERVERS), ORPHAN]
        return [
            {
                "kind": self.chance.choice(kinds),
                "of": name,
                "age_s": self.chance.choice((1, 30, 80, 700)),
                "answer": self.chance.choice(("ok", "ok", "ok", "refused", "unknown", "pending", "unsent")),
                "answered_age_s": self.chance.choice((0, None)),
                "refusals": self.chance.choice((1, 3)),
                "cause": self.chance.choice(("health", "new")),
            }
            for name in self.chance.sample(names, k=2)
        ]
