"""Every test run has a data folder of its own, and no broker but the one it is given."""

import atexit
import os
import shutil
import tempfile
from pathlib import Path

# Set before Django reads its settings, so a run never touches the folder or the config of the tree it runs in.
_VAR = Path(tempfile.mkdtemp(prefix="llmao-tests-"))
atexit.register(shutil.rmtree, _VAR, ignore_errors=True)
os.environ["LLMAO_VAR"] = str(_VAR)
os.environ["LLMAO_CONFIG"] = str(_VAR / "config.yaml")
os.environ["SECRET_KEY"] = "only-for-tests"
os.environ.setdefault("REDIS_URL", "memory://")
for name in ("DEBUG", "ALLOWED_HOSTS", "LLMAO_HTTPS"):
    os.environ.pop(name, None)
