"""config.yaml and models.yaml: what an admin wants, checked, with every mistake named at once.

`load(path)` reads them; `current()` is what the files say now, read again when one changes; `last_good()` outlives an
invalid edit. Secrets are `Secret`s all the way.
"""

from fleet.config.addresses import is_public_host, refused_because
from fleet.config.errors import ConfigError, ConfigErrors
from fleet.config.kept import current, last_good
from fleet.config.reading import load
from fleet.config.secret import Secret
from fleet.config.shape import Config, HostRow, ModelRow

__all__ = [
    "Config",
    "ConfigError",
    "ConfigErrors",
    "HostRow",
    "ModelRow",
    "Secret",
    "allowed_host",
    "current",
    "is_public_host",
    "last_good",
    "load",
]


def allowed_host(config: Config, host: str) -> bool:
    """Whether a host that a claim or a listing names may be taken up: a public one, or any unicast one when
    `fleet.allow_private_hosts` is true. `host` is canonical."""
    return not refused_because(host) and (config.fleet.allow_private_hosts or is_public_host(host))
