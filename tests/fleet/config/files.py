"""Configurations on disk, small and right; a test says only what differs."""

from pathlib import Path

CONFIG = """\
fleet:
  key: fleet-key
  vllm_api_salt: salt
litellm: {base_url: http://127.0.0.1:4000, master_key: sk-master}
"""
MODELS = """\
models:
  - model_name: qwen3-8b
    litellm_params: {model: hosted_vllm/qwen3-8b}
    model_info: {self_hosted: true}
    vllm: {model: Qwen/Qwen3-8B-FP8}
"""


def write(folder: Path, config: str | None = CONFIG, models: str | None = MODELS) -> Path:
    """Both files in `folder` (None: not that one); returns the path of config.yaml."""
    for name, text in (("config.yaml", config), ("models.yaml", models)):
        if text is not None:
            (folder / name).write_text(text, encoding="utf-8")
    return folder / "config.yaml"


def with_fleet(lines: str, rest: str = "") -> str:
    """CONFIG with more lines in its section `fleet`, and more at the end."""
    inner = "".join(f"  {line}\n" for line in lines.strip("\n").split("\n"))
    head, tail = CONFIG.split("litellm:")
    return f"{head}{inner}litellm:{tail}{rest}"
