"""Secrets, and the hashes that stand for them, never reach a person."""

from fleet.redact import Change, changes, redact

ONE, OTHER = {"secret": "a" * 32}, {"secret": "b" * 32}


def test_it_says_secret_wherever_a_hash_stands() -> None:
    body = {"params": {"api_key": ONE, "headers": [{"x": ONE}]}, "key_hash": "c" * 32, "key_hashes": {"h:1": "d" * 32}}
    assert redact(body) == {
        "params": {"api_key": "secret", "headers": [{"x": "secret"}]},
        "key_hash": "secret",
        "key_hashes": "secret",
    }


def test_it_keeps_everything_else_as_it_is() -> None:
    body = {"secret": "no dict", "n": 1, "none": None, "list": [True, "x"], "key_hash": ""}
    assert redact(body["list"]) == [True, "x"]
    assert redact(body) == body


def test_it_says_that_a_secret_changed_without_either() -> None:
    assert changes({"p": {"api_key": ONE}}, {"p": {"api_key": OTHER}}) == [Change("p.api_key", "secret", "changed")]


def test_it_lists_only_what_a_write_changes_by_path() -> None:
    before = {"model_name": "tiny", "litellm_params": {"api_base": "http://203.0.113.10:1/v1", "api_key": ONE}}
    after = {"model_name": "tiny", "litellm_params": {"api_base": "http://203.0.113.10:2/v1", "api_key": ONE, "rpm": 5}}
    assert changes(before, after) == [
        Change("litellm_params.api_base", "http://203.0.113.10:1/v1", "http://203.0.113.10:2/v1"),
        Change("litellm_params.rpm", "", "5"),
    ]


def test_it_shows_a_new_body_and_one_that_goes() -> None:
    assert changes(None, {"a": {"key": ONE}, "tags": ["x"], "none": {}}) == [
        Change("a.key", "", "secret"),
        Change("none", "", "{}"),
        Change("tags", "", '["x"]'),
    ]
    assert changes({"a": 1.5}, None) == [Change("a", "1.5", "")]
