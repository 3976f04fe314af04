"""Running programs on arrays. Kernel text is never seen here; ``schema.validate`` stops hostile programs before."""

from nki_anvil.sim.execution.errors import ExecutionError, NotSimulated
from nki_anvil.sim.execution.executable import Executable
from nki_anvil.sim.execution.outcome import Outcome

__all__ = ["Executable", "ExecutionError", "NotSimulated", "Outcome"]
