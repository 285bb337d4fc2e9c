"""A stored pass as a scenario file: it passes as it is, decides as the pass did, and tells nothing of whose fleet it
is. Every scenario there is serves as a pass."""

import json
import re
from io import StringIO
from pathlib import Path
from typing import Any

import msgspec
import pytest
from django.core.management import call_command
from msgspec.structs import replace

from fleet import cases, cycle, replays
from fleet.neutral import NOW, Unclassified, Walker
from fleet.neutral_fields import FIELDS
from fleet.neutral_names import replaced
from fleet.replays import PassInput
from reconcile.inputs import Intended, Source
from tests.reconcile.outcome import differences
from tests.reconcile.scenario import files, read
from tests.reconcile.stage import Turn, play, played

from .loop import Fleet

DOCUMENTED = re.compile(r"(203\.0\.113|198\.51\.100|192\.0\.2|127\.\d+\.\d+)\.\d+")
ADDRESS = re.compile(r"\b\d{1,3}(?:\.\d{1,3}){3}\b")
NAME = "203.0.113.10:8003/qwen3-8b"
each_case = pytest.mark.parametrize("path", files(), ids=lambda path: path.stem)


def given_of(turn: Turn) -> PassInput:
    return PassInput(snapshots=turn.snapshots, history=turn.history, settings=turn.settings, now=turn.now)


def elsewhere(text: str) -> str:
    """The same scenario in a fleet of real-looking names."""
    moved = text.replace("203.0.113.", "45.12.7.").replace("2001:db8::", "2a01:4f8::")
    return moved.replace("acme.example", "acme-corp.internal").replace("ann", "Ann Smith")


def wrote(path: Path) -> list[str]:
    """How the file differs from what it expects; the test of all scenario files asserts that it does not."""
    (turn,) = play(read(path.read_bytes()))
    return differences(turn)


# --- from the loop --------------------------------------------------------------------------------------------


@pytest.mark.django_db(transaction=True)
def test_it_writes_a_pass_as_a_scenario_that_passes_at_once(fleet: Fleet, tmp_path: Path) -> None:
    cycle.run()
    out, err = StringIO(), StringIO()
    folder = tmp_path / "cases"
    folder.mkdir()
    first = (replays.newest() or 0) - 1
    call_command("replay", str(first), "--as-case", "R04-as-it-was", "--to", str(folder), stdout=out, stderr=err)
    path = folder / "R04-as-it-was.json"
    assert (out.getvalue(), err.getvalue()) == (f"Wrote {path}.\n", "")
    assert wrote(path) == []
    scenario = read(path.read_bytes())
    assert scenario.table == ("R04",)
    assert [(each.kind, each.name, each.status) for each in scenario.expect.actions] == [
        ("add_litellm", "203.0.113.10:8003/tiny", "ready")
    ]
    assert scenario.raw is not msgspec.UNSET and scenario.raw.now == NOW
    assert max(map(len, path.read_text().splitlines())) <= 240


# --- from every scenario --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    # How a row was last listed is not shown, so of replicas that disagree only the warning tells.
    [path for path in files() if path.stem != "F-replicas-disagree"],
    ids=lambda path: path.stem,
)
def test_it_decides_as_the_pass_did_and_tells_nothing_of_whose_fleet_it_is(path: Path, tmp_path: Path) -> None:
    for number, turn in enumerate(play(read(elsewhere(path.read_text()).encode()))):
        written, lost = cases.write(f"A-{number}", tmp_path, given_of(turn))
        text = written.read_text()
        assert lost == [] and wrote(written) == []
        assert len(json.loads(text)["expect"]["actions"]) == len(turn.decision.plan.actions)
        assert [found for found in ADDRESS.findall(text) if not DOCUMENTED.fullmatch(found)] == []
        for word in ("2a01:4f8", "acme-corp", "Ann Smith", "key of", "45.12.7", "9001"):
            assert word not in text


# --- how names are replaced -----------------------------------------------------------------------------------


def structs_in(kind: Any) -> dict[str, set[str]]:
    """Every struct that a value of this type can hold -> its fields."""
    found: dict[str, set[str]] = {}
    seen: set[str] = set()
    todo: list[Any] = [msgspec.inspect.type_info(kind)]
    while todo:
        each = todo.pop()
        if isinstance(each, msgspec.inspect.StructType) and str(each.cls) not in seen:
            seen.add(str(each.cls))
            found[each.cls.__name__] = {field.name for field in each.fields}
            todo += [field.type for field in each.fields]
        todo += [getattr(each, name) for name in ("item_type", "value_type") if hasattr(each, name)]
        todo += [inner for name in ("types", "item_types") for inner in getattr(each, name, ())]
    return found


def test_it_has_a_rule_for_every_field_of_an_input() -> None:
    """A new field of an input fails here: say in fleet/neutral_fields.py what it is."""
    found = structs_in(PassInput)
    assert found.pop("Settings")
    assert len(found) > 25
    assert [(name, fields - set(FIELDS[name])) for name, fields in found.items() if fields - set(FIELDS[name])] == []


def test_it_has_a_method_for_every_rule() -> None:
    rules = {rule for fields in FIELDS.values() for rule in fields.values()} - {"keep"}
    assert [rule for rule in rules if not callable(getattr(Walker, rule, None))] == []


def test_it_shows_no_field_that_nobody_classified() -> None:
    class Novel(msgspec.Struct):
        where: str

    with pytest.raises(Unclassified, match="Novel.where has no rule in fleet/neutral_fields.py"):
        Walker(lambda _, text: text, 0.0).of((Novel("10.1.2.3"),))


def _emptied(given: PassInput) -> PassInput:
    """Without what no copy shows: how a row was last listed, and what an approval was shown."""
    rows = tuple(replace(row, seen=None, seen_at=None) for row in given.history.rows)
    given = replace(given, history=replace(given.history, rows=rows))
    source = given.snapshots.intended
    if source.body is None:
        return given
    approvals = tuple(replace(approval, seen={}) for approval in source.body.approvals)
    source = replace(source, body=replace(source.body, approvals=approvals))
    return replace(given, snapshots=replace(given.snapshots, intended=source))


def test_it_changes_nothing_by_itself() -> None:
    """The walk with every name standing for itself, and no time moved, gives the input back (but for HTTP://)."""
    for turn in (turn for path in files() for turn in played(path)):
        given = given_of(turn)
        given = _emptied(given)
        walked = Walker(lambda _, text: text, given.now, given.now).of(given)
        assert msgspec.json.encode(walked).lower() == msgspec.json.encode(given).lower()


@pytest.mark.parametrize(
    ("text", "new"),
    [
        ("http://45.12.7.9:8003", "http://HOST:8003"),
        ("http://45.12.7.9:40001/v1", "http://HOST:40001/v1"),
        ("https://45.12.7.9:40001/v1/", "https://HOST:40001/v1/"),
        ("http://[2a01:4f8::1]:8003", "http://[HOST6]:8003"),
        ("https://api.corp.test/v1", "BASE/v1"),
        ("https://API.corp.test/team/", "BASE/"),
        ("http://45.12.7.9/gateway/v1", "BASE/v1"),
        ("http://me:secret@45.12.7.9:8003", "BASE"),
        ("http://[broken", "BASE"),
        ("gpt", "BASE"),
    ],
)
def test_it_replaces_what_an_address_tells(text: str, new: str) -> None:
    def rename(kind: str, name: str) -> str:
        return {"base": "BASE", "host": "HOST"}[kind] if ":" not in name or kind == "base" else "h:o:s:t"

    walked = Walker(rename, 0.0).url(text).replace("h:o:s:t", "HOST6")
    assert walked == new


def test_it_keeps_the_order_of_hosts_and_has_enough_of_them() -> None:
    """More than the documentation addresses that there are: loopback ones follow."""
    from fleet.neutral_names import _hosts

    old = [f"45.{number // 200}.7.{number % 200}" for number in range(2000)]
    new = _hosts([*old, "2a01::1", "2a01::2"])
    assert len(set(new.values())) == 2002
    assert [new[host] for host in sorted(old)] == sorted(new[host] for host in old)
    assert all(DOCUMENTED.fullmatch(new[host]) for host in old)
    assert {new["2a01::1"], new["2a01::2"]} == {"2001:db8::10", "2001:db8::11"}


def test_it_moves_times_exactly() -> None:
    walker = Walker(lambda _, text: text, 1795640400.2371094)
    then = 1795640385.1290283
    assert walker.time(1795640400.2371094) == NOW
    assert NOW - walker.time(then) == 1795640400.2371094 - then
    assert (walker.time(0.0), walker._apply("time", None)) == (0.0, None)


def test_it_says_so_when_the_copy_decides_otherwise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Probes that lose their address on the way are probes of nothing."""
    turn = next(turn for path in files() for turn in played(path) if path.stem == "R10-dead")
    monkeypatch.setitem(FIELDS["Probe"], "base", "label")
    _, lost = cases.write("A-lost", tmp_path, given_of(turn))
    assert lost == ["203.0.113.10:8003/qwen3-8b (qwen3-8b at 203.0.113.10:8003)", f"delete_litellm {NAME}"]


def test_it_leaves_out_what_has_its_default() -> None:
    source: Source[Intended] = Source(interval_s=60.0, body=Intended(drained=()), taken_at=1.0)
    assert cases.plain(source) == {"interval_s": 60.0, "body": {}, "taken_at": 1.0}


def test_it_gives_everybody_the_same_names_twice() -> None:
    turn = played(files()[0])[0]
    once, again = (replaced(given_of(turn), turn.decision).given for _ in range(2))
    assert msgspec.json.encode(once) == msgspec.json.encode(again)
