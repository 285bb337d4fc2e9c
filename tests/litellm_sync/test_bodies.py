from __future__ import annotations

import copy

import pytest

from litellm_sync.bodies import UnknownSecret, hashes_in, is_hashed, reveal

HASH, OTHER = "0" * 32, "1" * 32
BODY = {
    "model_name": "qwen3-8b",
    "litellm_params": {"api_key": {"secret": HASH}, "extra": [{"secret": OTHER}, 5, None]},
    "model_info": {"id": "llmao-1", "note": {"secret": 5}, "both": {"secret": HASH, "and": 1}},
}


def test_it_puts_the_secrets_in_and_leaves_the_given_body_alone() -> None:
    before = copy.deepcopy(BODY)
    sent = reveal(BODY, {HASH: "sk-one", OTHER: "sk-two"})
    assert sent["litellm_params"] == {"api_key": "sk-one", "extra": ["sk-two", 5, None]}
    assert before == BODY


def test_it_takes_nothing_else_for_a_secret() -> None:
    sent = reveal(BODY, {HASH: "sk-one", OTHER: "sk-two"})
    assert sent["model_info"] == BODY["model_info"]


def test_it_names_the_place_of_a_secret_that_is_gone_and_not_its_hash() -> None:
    with pytest.raises(UnknownSecret) as caught:
        reveal(BODY, {HASH: "sk-one"})
    assert caught.value.message.startswith("litellm_params.extra[0] is a secret that config.yaml and models.yaml no")
    assert OTHER not in caught.value.message


def test_it_lists_the_hashes_of_a_body() -> None:
    assert list(hashes_in(BODY)) == [HASH, OTHER]
    assert list(hashes_in(None)) == []


@pytest.mark.parametrize("value", [None, "x", {}, {"secret": 1}, {"secret": "x", "other": 1}, ["secret"]])
def test_it_knows_a_hash_by_its_form(value: object) -> None:
    assert not is_hashed(value)
    assert is_hashed({"secret": HASH})
