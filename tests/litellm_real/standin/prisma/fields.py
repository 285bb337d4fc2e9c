"""LiteLLM imports Json and Base64 from here as well as from the package."""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    import prisma

    return getattr(prisma, name)
