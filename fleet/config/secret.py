"""A value that must not be seen: it shows itself only to who asks for it by name."""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Secret:
    """`value()` is the only way to the value: a page, log line, f-string or traceback gets `(secret)`."""

    _value: str = field(repr=False)

    def value(self) -> str:
        return self._value

    def __bool__(self) -> bool:
        return bool(self._value)

    def __repr__(self) -> str:
        return "(secret)"

    __str__ = __repr__


def secret_hash(salt: str, value: str) -> str:
    """What stands for a secret in bodies: the first 32 hex of HMAC-SHA256(salt, "llmao.secret\\n" + value).

    Keyed, so that a leaked snapshot does not let anybody try guesses.
    """
    return hmac.new(salt.encode(), b"llmao.secret\n" + value.encode(), hashlib.sha256).hexdigest()[:32]
