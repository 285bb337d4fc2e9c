"""A LiteLLM proxy's stand-in, held to the same contract tests as the real one (tests/litellm)."""

from sim.litellm.faults import Fault as Fault
from sim.litellm.replica import MASTER_KEY as MASTER_KEY
from sim.litellm.replica import Call as Call
from sim.litellm.replica import LiteLLM as LiteLLM
from sim.litellm.store import Row as Row
from sim.litellm.store import Store as Store
