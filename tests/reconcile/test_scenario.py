"""A scenario file with a slip in it fails loudly: one that is read as something else would test nothing."""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec
import pytest

from tests.reconcile.outcome import differences
from tests.reconcile.scenario import files, read
from tests.reconcile.stage import play

BOX = "203.0.113.10:8003"
KEY = f"{BOX}/qwen3-8b"
HEALTHY = {"lifecycle": "Healthy", "skew": ["intended_not_in_litellm"]}


def scenario(*, expect: dict[str, Any] | None = None, then: list[Any] | None = None, **given: Any) -> bytes:
    told = {"servers": [f"{BOX} qwen3-8b"], "probes": [{"of": BOX}], **given}
    whole = {"title": "A box serves", "table": ["R04"], "given": told, "expect": expect or {}, "then": then or []}
    return json.dumps(whole).encode()


def found(**words: Any) -> list[str]:
    return differences(play(read(scenario(**words)))[0])


@pytest.mark.parametrize(
    ("words", "place"),
    [
        ({"prober": []}, "`prober` - at `$.given`"),
        ({"probes": [{"of": BOX, "sayz": "ok"}]}, "`sayz` - at `$.given.probes[0]`"),
        ({"expect": {"actoins": []}}, "`actoins` - at `$.expect`"),
        ({"expect": {"keys": {KEY: {"lifecycle": "Healthy", "skwe": []}}}}, "`skwe`"),
        ({"then": [{"after": 15}]}, "`after` - at `$.then[0]`"),
    ],
)
def test_it_names_a_word_it_does_not_know(words: dict[str, Any], place: str) -> None:
    with pytest.raises(msgspec.ValidationError) as refused:
        read(scenario(**words))
    assert place in str(refused.value)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ({"settings": {"treshold": 3}}, "no setting is called"),
        ({"sources": {"vats": "stale"}}, "no source is called"),
        ({"sources": {"vllm": "old"}}, "a source is unread, stale, failed"),
        ({"rows": [{"of": KEY, "changed": {"apibase": ""}}]}, "a row in LiteLLM has no"),
        ({"probes": [{"of": BOX, "says": "hello"}]}, "no probe says 'hello'"),
        ({"rows": [{"of": "qwen3-8b"}]}, "neither host:port/model nor provider/model"),
        ({"history": {"keys": {"203.0.113.11:8003/qwen3-8b": {}}}}, "not among this scenario's servers"),
        ({"approvals": [{"kind": "add_litellm", "of": KEY}]}, "nobody can have approved it"),
        ({"then": [{"after_s": 15, "given": {"history": {}}}]}, "history carries over"),
    ],
)
def test_it_says_what_is_wrong_in_a_scenario(words: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        play(read(scenario(**words)))


RAW: dict[str, Any] = {
    "now": 1_000_000_000.0,
    "settings": {},
    "history": {"began_at": 1.0, "passed_at": 2.0},
    "snapshots": {
        name: {"interval_s": 60.0, "body": {}, "taken_at": 999_999_999.0}
        for name in ("intended", "boxes", "vllm", "deployments", "litellm_health", "attempts")
    },
}


def raw(**changed: Any) -> bytes:
    return json.dumps(
        {"title": "as it was", "table": ["A"], "raw": {**RAW, **changed}, "expect": {"keys": {}}}
    ).encode()


def test_it_plays_a_pass_field_by_field() -> None:
    (turn,) = play(read(raw()))
    assert differences(turn) == []
    assert (turn.now, turn.history.began_at) == (1_000_000_000.0, 1.0)
    intended = {"interval_s": 60.0, "taken_at": 999_999_999.0, "body": {"models": [], "servers": []}}
    snapshots = {**RAW["snapshots"], "intended": intended}
    assert differences(play(read(raw(snapshots=snapshots)))[0]) == []


@pytest.mark.parametrize(
    ("changed", "place"),
    [
        ({"history": {**RAW["history"], "keyz": []}}, "'keyz' at $.raw.history"),
        ({"settings": {"treshold": 3}}, "'treshold' at $.raw.settings"),
        ({"snapshots": {**RAW["snapshots"], "vats": {}}}, "'vats' at $.raw.snapshots"),
    ],
)
def test_it_says_which_field_no_input_has(changed: dict[str, Any], place: str) -> None:
    with pytest.raises(ValueError, match=re.escape(f"no input of a pass has {place}")):
        read(raw(**changed))


@pytest.mark.parametrize("words", [{}, {"given": {}, "raw": RAW}, {"raw": RAW, "then": [{"after_s": 1}]}])
def test_it_is_either_told_in_words_or_field_by_field(words: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="either given, with what comes then, or raw"):
        read(json.dumps({"title": "both", "table": ["A"], "expect": {}, **words}).encode())


def test_it_expects_no_action_unless_the_file_says_so() -> None:
    assert found() == [f"actions: [('add_litellm', '{KEY}', 'ready')], expected []"]


@pytest.mark.parametrize(
    ("expect", "difference"),
    [
        ({"keys": {}}, f"records: ['{KEY}'], expected []"),
        ({"keys": {KEY: {"lifecycle": "Healthy"}}}, f"{KEY}: skew: ('intended_not_in_litellm',), expected ()"),
        ({"keys": {KEY: {**HEALTHY, "misses": 1}}}, f"{KEY}: misses: 0, expected 1"),
        ({"items": [{"kind": "held", "name": KEY}]}, f"items: [], expected [('held', '{KEY}')]"),
        ({"targets": {}}, f"targets: {{'{BOX}': '{BOX}'}}, expected {{}}"),
        ({"remembered": {KEY: {"hits": 2}}}, f"remembered of {KEY}: hits: 1, expected 2"),
        ({"models": {"qwen3-8b": {"status": "Degraded"}}}, "qwen3-8b: status: 'Available', expected 'Degraded'"),
        ({"sources": {"vllm": "stale"}}, "sources: {'vllm': 'fresh'}, expected {'vllm': 'stale'}"),
    ],
)
def test_it_tells_each_difference(expect: dict[str, Any], difference: str) -> None:
    adds = [{"kind": "add_litellm", "name": KEY}]
    assert found(expect={"actions": adds, **expect}) == [difference]


@pytest.mark.parametrize(
    ("words", "difference"),
    [
        ({"reason": "somebody"}, "expected in it 'somebody'"),
        ({"cause": "revert"}, "cause: 'new', expected 'revert'"),
        ({"resume": True}, "resume: False, expected True"),
        ({"after": {"model_info.llmao_key": "x"}}, f"model_info.llmao_key: 'http://{BOX}', expected 'x'"),
        ({"after": {"litellm_params.timeout": 3}}, "litellm_params.timeout: '(absent)', expected 3"),
        ({"same_digest": True}, "same digest: False, expected True"),
    ],
)
def test_it_tells_how_an_action_differs(words: dict[str, Any], difference: str) -> None:
    [wrong] = found(expect={"actions": [{"kind": "add_litellm", "name": KEY, **words}]})
    assert difference in wrong


def test_it_names_a_file_after_what_it_is_about() -> None:
    for path in files():
        table = read(path.read_bytes()).table
        assert any(path.stem.startswith(f"{each}-") for each in table), f"{path.name} is not about {table}"


def test_it_has_a_scenario_for_every_row() -> None:
    told = {each for path in files() for each in read(path.read_bytes()).table if each.startswith("R")}
    assert told == {f"R{number:02}" for number in range(1, 71)}
