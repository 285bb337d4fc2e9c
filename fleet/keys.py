"""The keys that boxes and LiteLLM are given: derived from one salt, or shared by legacy servers; and their hashes.

Nothing of this is stored: whoever has the configuration can work every key out again.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Iterable, Iterator
from dataclasses import fields, is_dataclass
from typing import Any
from urllib.parse import urlsplit

from fleet.config import Config, Secret
from fleet.config.secret import secret_hash

__all__ = ["derive_key", "hashed", "known_secrets", "secret_hash", "secrets_by_hash", "server_key", "server_key_hash"]


def derive_key(salt: str, host: str, listen_port: int) -> str:
    """The vLLM key of one server. `host` is canonical. These bytes are frozen: boxes run with them."""
    message = f"llmao.vllm.api_key\n{host}\n{listen_port}"
    digest = hmac.new(salt.encode(), message.encode(), hashlib.sha256).digest()
    return "sk-vllm-" + base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def server_key(config: Config, host: str, listen_port: int) -> str:
    """The key a server runs with: the shared one when it is listed in `fleet.legacy_servers`, else its own."""
    shared = config.fleet.selfhost_api_key
    if shared is not None and (host, listen_port) in config.fleet.legacy_servers:
        return shared.value()
    return derive_key(config.salt, host, listen_port)


def server_key_hash(config: Config, host: str, listen_port: int) -> str:
    """What stands for that key in bodies."""
    return secret_hash(config.salt, server_key(config, host, listen_port))


def hashed(body: Any, salt: str) -> Any:
    """The same body as plain JSON, with `{"secret": hash}` in the place of every `Secret`."""
    if isinstance(body, Secret):
        return {"secret": secret_hash(salt, body.value())}
    if isinstance(body, dict):
        return {key: hashed(value, salt) for key, value in body.items()}
    if isinstance(body, list | tuple):
        return [hashed(value, salt) for value in body]
    return body


def secrets_by_hash(config: Config, bodies: Iterable[dict[str, Any] | None] = ()) -> dict[str, str]:
    """Hash → value of every secret that can stand in a body: those of models.yaml, the keys of the servers in
    config.yaml, and of the servers that `bodies` (of `POST /model/new`) are for."""
    servers = {(row.host, row.listen_port) for row in config.fleet.hosts}
    servers.update(server for body in bodies for server in _servers(body))
    values = [server_key(config, *server) for server in servers]
    values += [secret.value() for row in config.models for secret in _secrets(row.params)]
    return {secret_hash(config.salt, value): value for value in values}


def known_secrets(config: Config) -> list[str]:
    """Every secret in the configuration, and the keys of its servers: what nobody's error may repeat on a page."""
    keys = [server_key(config, row.host, row.listen_port) for row in config.fleet.hosts]
    return list(dict.fromkeys([*keys, *(secret.value() for secret in _secrets(config))]))


def _servers(body: dict[str, Any] | None) -> Iterator[tuple[str, int]]:
    """The server that a body is for, by its stamp; a commercial base has no port of ours, and a key of it is unused."""
    url = urlsplit(str(((body or {}).get("model_info") or {}).get("llmao_key") or ""))
    if url.hostname and url.port:
        yield url.hostname, url.port


def _secrets(value: Any) -> Iterator[Secret]:
    """Those in a value of plain JSON and dataclasses."""
    if isinstance(value, Secret):
        yield value
    elif is_dataclass(value):
        for each in fields(value):
            yield from _secrets(getattr(value, each.name))
    elif isinstance(value, dict | list | tuple):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _secrets(inner)
