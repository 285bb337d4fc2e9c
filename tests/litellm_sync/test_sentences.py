from __future__ import annotations

from typing import Any

import msgspec
import pytest

from litellm_sync.sentences import HIDDEN, LENGTH, hide, one_line, said, secrets_in

#: Bodies as LiteLLM 1.108.7 sent them, and as the things in front of it do.
BODIES: list[tuple[int, Any, str]] = [
    (
        500,
        {"error": {"message": "{'error': 'Failed to add model to db. Check your server logs.'}", "code": "500"}},
        "LiteLLM answers 500: Failed to add model to db. Check your server logs.",
    ),
    (
        400,
        {"error": {"message": "{'error': 'Model with id=llmao-1 not found in db'}", "type": "auth_error"}},
        "LiteLLM answers 400: Model with id=llmao-1 not found in db",
    ),
    (
        404,
        {"error": {"message": "Model llmao-1 not found on proxy.", "param": None}},
        "LiteLLM answers 404: Model llmao-1 not found on proxy.",
    ),
    (
        404,
        {"detail": {"error": "Model with ID nosuch not found"}},
        "LiteLLM answers 404: Model with ID nosuch not found",
    ),
    (404, {"detail": "Not Found"}, "LiteLLM answers 404: Not Found"),
    (
        422,
        {"detail": [{"type": "json_invalid", "loc": ["body", 1], "msg": "JSON decode error"}, {"msg": "more"}]},
        "LiteLLM answers 422: JSON decode error; more",
    ),
    (401, {"error": "Unauthorized"}, "LiteLLM answers 401: Unauthorized"),
    (502, b"<html><title>Bad gateway</title></html>", "LiteLLM answers 502: a page (HTML)"),
    (503, b"upstream connect error\nreset", "LiteLLM answers 503: upstream connect error reset"),
    (500, b"", "LiteLLM answers 500 without a reason"),
    (500, {}, "LiteLLM answers 500 without a reason"),
    (500, {"error": {"message": None}}, "LiteLLM answers 500 without a reason"),
    (500, [], "LiteLLM answers 500 without a reason"),
    (500, 42, "LiteLLM answers 500 without a reason"),
    (500, b"[" * 100_000, "LiteLLM answers 500: " + "[" * (LENGTH - 1) + "…"),
]


@pytest.mark.parametrize(("status", "body", "sentence"), BODIES, ids=[str(place) for place in range(len(BODIES))])
def test_it_says_what_litellm_said(status: int, body: Any, sentence: str) -> None:
    data = body if isinstance(body, bytes) else msgspec.json.encode(body)
    assert said(status, data) == sentence


def test_it_survives_an_error_in_an_error_in_an_error() -> None:
    body = b'{"error":' * 500 + b'"deep"' + b"}" * 500
    assert said(500, body) == "LiteLLM answers 500 without a reason"


def test_it_leaves_the_stack_trace_out() -> None:
    error = (
        "InternalServerError: Cannot connect to host 203.0.113.10:40001\nstack trace: Traceback (most recent\n  File"
    )
    assert one_line(error) == "InternalServerError: Cannot connect to host 203.0.113.10:40001"


def test_it_cuts_after_it_has_hidden() -> None:
    secret = "made-up-secret-of-a-box"
    told = one_line("x" * (LENGTH - 10) + secret, [secret])
    assert len(told) <= LENGTH
    assert "made-up" not in told


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Incorrect API key provided: sk-vllm-YU9F3Sgfr-gNO_Z.", f"Incorrect API key provided: {HIDDEN}"),
        ("Authorization: Bearer abc.def given", f"Authorization: {HIDDEN} given"),
        ("key sk-p****", f"key {HIDDEN}"),
        ("the task-force asks for risk-free tokens", "the task-force asks for risk-free tokens"),
        ("my secret is hunter-two", f"my secret is {HIDDEN}"),
        ("a b c", "a b c"),
        ("bad\x00bin\x1f\x9f of \u202etxt\ud83d\nline", "badbin of txt line"),
        ("Incorrect API key provided: AIzaSyA-needle-1234567890, sent", f"Incorrect API key provided: {HIDDEN}, sent"),
        ("failed: AIzaSyA-needle-1234567890", f"failed: {HIDDEN}"),
        ("Authorization: Basic dXNlcjpwYXNz; more", f"Authorization: {HIDDEN}; more"),
        ('{"Authorization": "Bearer abc.def"}', f'{{"Authorization": "{HIDDEN}"}}'),
        ("x-api-key=0123456789abcdef, sent", f"x-api-key={HIDDEN}, sent"),
        ("api_key 0123456789abcdef was sent", f"api_key {HIDDEN} was sent"),
        ("sent bearer=abcdef1 there", f"sent {HIDDEN} there"),
        ("No api key passed in, authorization failed", "No api key passed in, authorization failed"),
    ],
)
def test_it_hides_the_known_secrets_and_what_looks_like_one(text: str, shown: str) -> None:
    assert hide(text, ["hunter-two", "hunter", "", "a"]) == shown


def test_it_finds_the_secrets_of_a_body() -> None:
    body = {
        "model_name": "qwen3-8b",
        "litellm_params": {
            "model": "hosted_vllm/qwen3-8b",
            "api_key": "one",
            "aws_secret_access_key": "two",
            "extra_headers": {"Authorization": "three", "X-Plain": "plain"},
            "vertex_credentials": {"private": ["four"]},
        },
    }
    assert list(secrets_in(body)) == ["one", "two", "three", "four"]
