from __future__ import annotations

from prisma.errors import PrismaError


class EngineRequestError(PrismaError):
    pass
