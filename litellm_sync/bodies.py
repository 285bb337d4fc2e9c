"""Bodies that are stored and compared hold hashes where secrets stand; only what is sent holds the secret."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

MARK = "secret"


class UnknownSecret(Exception):
    """A body names a secret that the present configuration does not hold. `message` is for an admin."""

    def __init__(self, path: str) -> None:
        self.message = (
            f"{path} is a secret that config.yaml and models.yaml no longer hold: "
            "the plan was made with another configuration and will be made afresh"
        )
        super().__init__(self.message)


def is_hashed(value: Any) -> bool:
    """Whether a value stands for a secret: `{"secret": "<hash>"}` and nothing else."""
    return isinstance(value, dict) and value.keys() == {MARK} and isinstance(value[MARK], str)


def reveal(body: dict[str, Any], secrets: Mapping[str, str]) -> dict[str, Any]:
    """The body with every `{"secret": <hash>}` replaced by `secrets[<hash>]`; the given body stays as it is.

    Raises UnknownSecret, which names the place and not the hash.
    """
    return {name: _revealed(value, secrets, name) for name, value in body.items()}


def hashes_in(value: Any) -> Iterator[str]:
    """The hash of every secret that a body names."""
    if is_hashed(value):
        yield value[MARK]
    elif isinstance(value, dict | list | tuple):
        for each in value.values() if isinstance(value, dict) else value:
            yield from hashes_in(each)


def _revealed(value: Any, secrets: Mapping[str, str], path: str) -> Any:
    if is_hashed(value):
        if value[MARK] not in secrets:
            raise UnknownSecret(path)
        return secrets[value[MARK]]
    if isinstance(value, dict):
        return {name: _revealed(each, secrets, f"{path}.{name}") for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_revealed(each, secrets, f"{path}[{place}]") for place, each in enumerate(value)]
    return value
