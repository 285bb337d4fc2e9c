"""`python -m tests.litellm_real [FOLDER]`: the real LiteLLM proxy to look at, until Ctrl-C.

Its tables are kept in FOLDER (without one: a folder that goes with it).
"""

from __future__ import annotations

import signal
import sys
import tempfile
from pathlib import Path

from tests.litellm_real.proxy import litellm_venv, running_proxy


def main() -> int:
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    with tempfile.TemporaryDirectory() as passing:
        folder = Path(sys.argv[1] if len(sys.argv) > 1 else passing)
        folder.mkdir(parents=True, exist_ok=True)
        try:
            with running_proxy(litellm_venv(), folder / "litellm.db") as proxy:
                print(
                    f"base_url    {proxy.base_url}\nmaster_key  {proxy.master_key}\nlog         {proxy.log}", flush=True
                )
                signal.pause()
        except (FileNotFoundError, RuntimeError) as problem:
            print(problem, file=sys.stderr)
            return 1
        except KeyboardInterrupt:
            return 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
