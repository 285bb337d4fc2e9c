"""The numbers and the policy of a pass, as config.yaml gives them."""

from __future__ import annotations

from typing import Literal

import msgspec

PolicyKind = Literal[
    "add_litellm", "update_litellm", "delete_litellm", "prune_orphan", "add_discovered", "block", "unblock"
]
Permission = Literal["auto", "needs_human"]


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """The numbers and the policy of one pass; defaults are those of config.yaml."""

    health_fail_threshold: int = 3
    health_grace_s: float = 1800
    settle_s: float = 75
    opinion_wait_s: float = 300
    history_keep_s: float = 300
    litellm_health_interval_s: float = 14400
    unlisted_passes: int = 3
    orphan_passes: int = 3
    actions_per_pass: int = 20
    keep_last_row: bool = False
    mode: Literal["act", "observe"] = "act"
    policy: dict[PolicyKind, Permission] = {}

    def permission(self, kind: PolicyKind) -> Permission:
        return self.policy.get(kind, "needs_human" if kind == "add_discovered" else "auto")
