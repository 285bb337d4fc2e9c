"""A provider's good answer, spoilt by one of the faults that an aiohttp server can be made to answer with."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from aiohttp import web

from sim.garbage import PAGE, Fault, numbers_as_text, without_lists


async def spoilt(request: web.Request, fault: Fault, page: dict[str, Any], other: web.Response) -> web.StreamResponse:
    """`page` under `fault`; `other` is the answer of Fault.STATUS. ValueError for a fault that needs a raw server."""
    text = json.dumps(page)
    if fault is Fault.SILENT:
        await asyncio.Event().wait()
    if fault in (Fault.SLOW_BODY, Fault.SLOW_HEADERS):
        return await _drip(request, text)
    if fault is Fault.STATUS:
        return other
    if fault is Fault.HTML:
        return web.Response(text=PAGE, content_type="text/html")
    bodies = {
        Fault.EMPTY: "",
        Fault.TRUNCATED: text[: len(text) // 2],
        Fault.NULL_LISTS: json.dumps(without_lists(page)),
        Fault.NUMBERS_AS_TEXT: json.dumps(numbers_as_text(page)),
        Fault.NOT_AN_OBJECT: "42",
    }
    if fault not in bodies:
        raise ValueError(f"a simulated provider cannot answer {fault}: use garbage_server({fault!r})")
    return web.Response(text=bodies[fault], content_type="application/json")


async def _drip(request: web.Request, body: str) -> web.StreamResponse:
    """The good body, a byte each 0.2 s: longer than anybody should wait."""
    answer = web.StreamResponse(headers={"Content-Type": "application/json"})
    await answer.prepare(request)
    for character in body:
        await answer.write(character.encode())
        await asyncio.sleep(0.2)
    return answer
