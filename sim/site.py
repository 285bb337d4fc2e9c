"""An aiohttp application on an address, started and stopped."""

from __future__ import annotations

from aiohttp import web


class Site:
    """`start` serves `app`, `stop` drops its connections. `url` is "http://HOST:PORT" between the two."""

    def __init__(self, app: web.Application) -> None:
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        self.url = ""

    async def start(self, host: str = "127.0.0.1", port: int = 0) -> str:
        """Port 0 takes a free one. OSError when the address is taken."""
        await self._runner.setup()
        try:
            await web.TCPSite(self._runner, host, port).start()
        except OSError:
            await self._runner.cleanup()
            raise
        self.url = f"http://{host}:{self._runner.addresses[0][1]}"
        return self.url

    async def stop(self) -> None:
        await self._runner.cleanup()
