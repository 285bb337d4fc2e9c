"""What LiteLLM lists: `GET /model/info`."""

from __future__ import annotations

from fleet.sources.base import SourceError, SourceKind
from fleet.sources.configuration import litellm
from litellm_sync.client import LiteLLMError
from reconcile.inputs import Deployments
from reconcile.view import View


def fetch(_: View) -> Deployments:
    """Every deployment, ours or not. Raises SourceError: what is not a whole list is no list."""
    try:
        return Deployments(deployments=litellm().deployments())
    except LiteLLMError as failure:
        raise SourceError(failure.message) from None


SOURCE = SourceKind("deployments", Deployments, "skew_interval_s", fetch)
