"""Django's settings in tests: every run has a data folder of its own, and no broker but the one it is given.

pytest-django reads the settings before any conftest.py, so what they are made from has to be set here.
"""

import atexit
import os
import shutil
import tempfile
from pathlib import Path

_var = Path(tempfile.mkdtemp(prefix="llmao-tests-"))
atexit.register(shutil.rmtree, _var, ignore_errors=True)
os.environ["LLMAO_VAR"] = str(_var)
os.environ["LLMAO_CONFIG"] = str(_var / "config.yaml")
os.environ["SECRET_KEY"] = "only-for-tests"
os.environ.setdefault("REDIS_URL", "memory://")
for name in ("DEBUG", "ALLOWED_HOSTS", "LLMAO_HTTPS"):
    os.environ.pop(name, None)
os.environ["DJANGO_SETTINGS_MODULE"] = "llmao_site.settings"  # for the processes that tests start

from llmao_site.settings import *  # noqa: E402, F403 - what is set above has to be there first
