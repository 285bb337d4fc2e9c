"""The one HTTP door: every request of llmao to the outside goes through here.

A total timeout bounds connecting, slow headers and slow bodies alike; bodies are capped; redirects are answers, not
instructions; proxies and cookies of the environment do not exist. What fails says which address and how, and never
holds a path, query, header or body: those may carry keys.
"""

from __future__ import annotations

import asyncio
import errno
import ssl
import time
from collections.abc import Coroutine, Mapping
from typing import Any, Literal, Self, TypeVar
from urllib.parse import urlsplit

import aiohttp
import msgspec
from aiohttp.http_exceptions import HttpProcessingError

CAP = 4 * 1024 * 1024
Kind = Literal["refused", "reset", "timeout", "unreachable", "tls", "too_large", "not_http"]
T = TypeVar("T")

_SENTENCES: dict[Kind, str] = {
    "refused": "{at} refuses the connection",
    "reset": "{at} closed the connection before it had answered",
    "timeout": "{at} did not answer within {timeout_s:g} s",
    "unreachable": "{at} cannot be reached{why}",
    "tls": "{at} offers no TLS that this machine trusts",
    "too_large": "{at} answers with more than {cap_mb:g} MB",
    "not_http": "{at} does not answer in HTTP",
}
_NO_TIMEOUT = aiohttp.ClientTimeout(total=None, connect=None, sock_connect=None, sock_read=None)
#: `identity`: an answer that unpacks to more than the cap cannot be sent.
_HEADERS = {"User-Agent": "llmao", "Accept": "application/json", "Accept-Encoding": "identity"}


class NoAnswer(Exception):
    """No HTTP answer came, or not a whole one. `message` is a sentence for an admin; `kind` is for programs."""

    def __init__(self, kind: Kind, message: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message


class TooLarge(Exception):
    """Inside this file only: the body passed its cap."""


class Answer(msgspec.Struct, frozen=True):
    """An HTTP answer of any status. `headers` are looked up in any case; `latency_s` counts from the first byte sent
    (connecting included) to the last byte of the body."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    latency_s: float

    @property
    def redirects(self) -> bool:
        return 300 <= self.status < 400

    @property
    def is_page(self) -> bool:
        """Whether this is HTML: what gateways and loading screens answer, also with status 200."""
        return "html" in self.headers.get("Content-Type", "").lower() or self.body[:200].lstrip()[:1] == b"<"


class Session:
    """Many requests from one event loop, connections kept alive between them. Use as `async with Session() as it`.

    It opens as many connections as it is asked for at once: waiting for a free one would count as their timeout.
    """

    def __init__(self) -> None:
        self._client: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        self._client = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers=_HEADERS,
            timeout=_NO_TIMEOUT,
            auto_decompress=False,
            trust_env=False,
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._client is not None:
            await self._client.close()

    async def ask(
        self,
        method: str,
        url: str,
        *,
        timeout_s: float,
        headers: Mapping[str, str] | None = None,
        json: Any = None,
        cap: int = CAP,
    ) -> Answer:
        """One request, at most `timeout_s` seconds for all of it, at most `cap` bytes of body. `json` is sent as the
        body when it is not None. Raises NoAnswer."""
        try:
            async with asyncio.timeout(timeout_s):
                return await self._ask(method, url, headers, json, cap)
        except (aiohttp.ClientError, HttpProcessingError, TooLarge, OSError, ValueError) as failure:
            kind = _kind(failure)
            raise NoAnswer(kind, _sentence(kind, url, timeout_s, cap, failure)) from None

    async def _ask(self, method: str, url: str, headers: Mapping[str, str] | None, json: Any, cap: int) -> Answer:
        if self._client is None:
            raise RuntimeError("a Session is used inside `async with`")
        sent = {"Content-Type": "application/json", **(headers or {})} if json is not None else headers
        data = msgspec.json.encode(json) if json is not None else None
        began = time.monotonic()
        response = await self._client.request(method, url, headers=sent, data=data, allow_redirects=False)
        try:
            body = await _body(response, cap)
        finally:
            response.close()  # does nothing once the whole body is read: the connection is then kept
        return Answer(response.status, response.headers, body, time.monotonic() - began)


async def _body(response: aiohttp.ClientResponse, cap: int) -> bytes:
    if (response.content_length or 0) > cap:
        raise TooLarge
    body = chunk = await response.content.readany()
    if chunk and not response.content.at_eof():
        pieces, size = [chunk], len(chunk)
        while chunk := await response.content.readany():
            pieces.append(chunk)
            size += len(chunk)
            if size > cap:
                raise TooLarge
        body = b"".join(pieces)
    if len(body) > cap:
        raise TooLarge
    return body


def _kind(failure: Exception) -> Kind:
    """First that holds: the order matters, because aiohttp's errors are of several kinds at once."""
    if isinstance(failure, TooLarge):
        return "too_large"
    if isinstance(failure, TimeoutError):
        return "timeout"
    if isinstance(failure, aiohttp.ClientSSLError | ssl.SSLError):
        return "tls"
    if isinstance(failure, ConnectionRefusedError) or getattr(failure, "errno", None) == errno.ECONNREFUSED:
        return "refused"
    if isinstance(failure, aiohttp.ClientConnectorError):
        return "timeout" if failure.errno == errno.ETIMEDOUT else "unreachable"
    return _broken_off(failure)


def _broken_off(failure: Exception) -> Kind:
    """The connection stood, and the answer is not a whole one."""
    if isinstance(failure, aiohttp.ServerDisconnectedError | aiohttp.ClientPayloadError | ConnectionError):
        return "reset"
    if isinstance(failure, OSError):
        return "reset" if failure.errno in (errno.ECONNRESET, errno.EPIPE) else "unreachable"
    return "unreachable" if isinstance(failure, aiohttp.InvalidURL) else "not_http"


def _sentence(kind: Kind, url: str, timeout_s: float, cap: int, failure: Exception) -> str:
    why = ""
    if isinstance(failure, aiohttp.ClientConnectorDNSError):
        why = ": its name is not known here"
    elif isinstance(failure, OSError) and failure.errno is not None and failure.errno in errno.errorcode:
        why = f" ({errno.errorcode[failure.errno]})"
    return _SENTENCES[kind].format(at=_address(url), timeout_s=timeout_s, cap_mb=cap / 1024 / 1024, why=why)


def _address(url: str) -> str:
    """`host:port` of a URL, without user, path and query."""
    try:
        return urlsplit(url).netloc.rpartition("@")[2] or "the address"
    except ValueError:  # an unclosed bracket
        return "the address"


def run(work: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine, from synchronous code. Unlike `asyncio.run` it does not wait for a name look-up that
    was given up: the timeout would not hold."""
    loop = asyncio.new_event_loop()
    try:
        return loop.run_until_complete(work)
    finally:
        _end_tasks(loop)
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()


def _end_tasks(loop: asyncio.AbstractEventLoop) -> None:
    left = asyncio.all_tasks(loop)
    for task in left:
        task.cancel()
    loop.run_until_complete(_settle(left))


async def _settle(tasks: set[asyncio.Task[Any]]) -> None:
    await asyncio.gather(*tasks, return_exceptions=True)


def ask(
    method: str,
    url: str,
    *,
    timeout_s: float,
    headers: Mapping[str, str] | None = None,
    json: Any = None,
    cap: int = CAP,
) -> Answer:
    """`Session.ask` for a single request from synchronous code."""
    return run(_one(method, url, timeout_s=timeout_s, headers=headers, json=json, cap=cap))


async def _one(method: str, url: str, **how: Any) -> Answer:
    async with Session() as session:
        return await session.ask(method, url, **how)
