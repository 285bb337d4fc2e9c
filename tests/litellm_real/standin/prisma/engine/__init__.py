"""The query engine that is not here; LiteLLM imports its error names while it handles another error."""

from . import errors  # noqa: F401  # imported as an attribute
