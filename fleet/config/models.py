"""models.yaml: which models there are, how a box starts each, what LiteLLM is told of it."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from fleet.config import params
from fleet.config.field import Field
from fleet.config.report import Report
from fleet.config.section import Section
from fleet.config.shape import ModelRow, Vllm
from reconcile.identity import provider_url

STRUCTURE = ("model_name", "litellm_params", "pricing", "model_info", "vllm")
DISPLAY = ("display_name", "provider", "context_window", "license", "modality", "supports_thinking", "notes")
VLLM = ("model", "args", "max_model_len", "gpu_memory_utilization", "vram_gb", "disk_gb")
PRICES = {
    "input_cost_per_token": "input_cost_per_token",
    "output_cost_per_token": "output_cost_per_token",
    "input": "input_cost_per_token",
    "output": "output_cost_per_token",
}
WRITTEN_BY_LLMAO = frozenset(
    ("id", "llmao_key", "llmao_body", "llmao_params", "llmao_instance", "asf_api_base", "db_model", "blocked")
)
GIVEN_BY_LLMAO = ("--api-key", "--port")
LARGEST = 10_000_000


@dataclass(frozen=True)
class Placed:
    """A model with the place of its row."""

    row: ModelRow
    field: Field


def read(report: Report, top: dict[str, Field]) -> list[Placed]:
    """Every row that has a name; what is wrong is reported."""
    field = top.get("models")
    if field is None or field.kind == "null":
        report.add(field.line if field else None, "models", "is missing: write a list, as in models: [{model_name: …}]")
        return []
    items = field.items("models: [{model_name: …, litellm_params: …}]")
    placed = [each for each in map(_row, items) if each]
    _refuse_twins(placed)
    return placed


def _row(field: Field) -> Placed | None:
    entries = field.entries("{model_name: …, litellm_params: {model: …}}")
    if field.kind != "mapping":
        return None
    name = _name(field, entries)
    info, self_hosted = _info(entries)
    prices = {name: value for name, value in info.items() if "cost_per_" in name}
    vllm = _vllm(field, entries.get("vllm"), self_hosted=self_hosted)
    row = ModelRow(
        name=name or "",
        # LiteLLM drops prices from model_info and charges by those in litellm_params.
        params=params.read(entries.get("litellm_params"), self_hosted=self_hosted, missing=field)
        | prices
        | _prices(field.report, entries.get("pricing")),
        self_hosted=self_hosted,
        info={name: value for name, value in info.items() if name not in prices},
        vllm=vllm,
        shown=_shown(entries),
    )
    return Placed(row, field) if name else None


def _name(field: Field, entries: dict[str, Field]) -> str | None:
    if "model_name" not in entries:
        field.wrong("model_name is missing: write the name that callers put in `model`")
        return None
    name = entries["model_name"].text("a name, as in qwen3-8b")
    if name and "*" in name:
        entries["model_name"].wrong(params.NO_WILDCARD)
    return name


def _info(entries: dict[str, Field]) -> tuple[dict[str, Any], bool]:
    """(model_info, self_hosted). A row with a `vllm` section is taken for a box even if it does not say so."""
    field = entries.get("model_info")
    inner = field.entries("model_info: {self_hosted: true}") if field else {}
    for name in (name for name in inner if name in WRITTEN_BY_LLMAO):
        inner[name].wrong("llmao writes this itself: remove it")
    said = inner["self_hosted"].boolean() if "self_hosted" in inner else None
    if "vllm" in entries and not said:
        entries["vllm"].wrong("only a self-hosted model has a vllm section: write model_info: {self_hosted: true}")
    info = {name: each.data() for name, each in inner.items() if name != "self_hosted"}
    return info, bool(said) or "vllm" in entries


def _prices(report: Report, field: Field | None) -> dict[str, float]:
    example = "pricing: {input_cost_per_token: 0.0000002}"
    fields = Section(report, field.key if field else "", field, known=PRICES, example=example).fields
    found = {PRICES[name]: each.number("USD per token, as in 0.0000002", 0, 1000) for name, each in fields.items()}
    return {name: price for name, price in found.items() if price is not None}


def _vllm(row: Field, field: Field | None, *, self_hosted: bool) -> Vllm | None:
    if not self_hosted:
        return None
    if field is None:
        row.wrong("a self-hosted model needs a vllm section: write vllm: {model: Qwen/Qwen3-8B-FP8}")
        return None
    section = Section(row.report, field.key, field, known=VLLM, example="vllm: {model: Qwen/Qwen3-8B-FP8}")
    weights = section.get("model")
    if weights is None:
        section.missing("model", "the id of the weights, as in Qwen/Qwen3-8B-FP8")
    return Vllm(
        model=(weights.text("the id of the weights, as in Qwen/Qwen3-8B-FP8") if weights else None) or "",
        args=tuple(_args(section.get("args"))),
        max_model_len=_whole(section.get("max_model_len")),
        gpu_memory_utilization=_number(section.get("gpu_memory_utilization"), "a share above 0, at most 1", 1),
        vram_gb=_number(section.get("vram_gb"), "a number of GB above 0", LARGEST),
        disk_gb=_number(section.get("disk_gb"), "a number of GB above 0", LARGEST),
    )


def _whole(field: Field | None) -> int | None:
    return field.integer("a whole number of tokens, as in 40960", 1, 1_000_000_000) if field else None


def _number(field: Field | None, what: str, high: float) -> float | None:
    return field.number(what, 0, high, above=True) if field else None


def _args(field: Field | None) -> Iterator[str]:
    """The arguments as written: 0.90 stays 0.90."""
    for item in field.items("args: [--dtype, auto]") if field else ():
        text = str(item.node.value) if item.kind in ("text", "number") else None
        if not text:
            item.expected("an argument of vLLM as text, as in --dtype; put it in quotes")
        elif text.split("=")[0] in GIVEN_BY_LLMAO:
            item.wrong(f"llmao gives each box its own {text.split('=')[0]}: remove it")
        else:
            yield text


def _shown(entries: dict[str, Field]) -> dict[str, Any]:
    """The display fields. Any may be added; one that looks like a slip of a known key is refused."""
    for name, field in entries.items():
        near = difflib.get_close_matches(name, (*STRUCTURE, *DISPLAY), n=1, cutoff=0.8)
        if near and near[0] != name:
            field.wrong(f"unknown key; did you mean {near[0]}?")
    if window := entries.get("context_window"):
        _whole(window)
    return {name: field.data() for name, field in entries.items() if name not in STRUCTURE}


def _refuse_twins(placed: list[Placed]) -> None:
    seen: dict[tuple[str, str], int] = {}
    for each in placed:
        row = each.row
        base = "" if row.self_hosted else str(row.params.get("api_base", ""))
        twin = (row.name, provider_url(base) if base else "self-hosted" if row.self_hosted else "")
        if not twin[1]:
            continue
        if first := seen.get(twin):
            what = "a self-hosted row" if row.self_hosted else "a commercial row with this api_base"
            each.field.wrong(f"{row.name} already has {what} on line {first}: one of them has to go")
        seen.setdefault(twin, each.field.line)
