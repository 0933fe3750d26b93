"""The parts that an agent's turns share, sent to each process once.

Tools, playbooks, skills and the prompt definition make up most of a `TurnRun` and change only when
someone edits them. A process keeps the newest set it received under a number; later turns refer to
that number.
"""

from thinker.protocol.methods import TurnRun
from thinker.protocol.peer import RpcError

NOT_KEPT = -32004  # error code: send the turn whole
NOTHING = {"prompt": None, "playbooks": (), "skills": (), "tools": ()}


class SentTurnCache:
    """The supervisor's record of what one process keeps."""

    def __init__(self) -> None:
        self._number = 0
        self._parts: list[object] = []

    def shortened(self, run: TurnRun) -> TurnRun:
        """Return the turn without the parts the process keeps, or whole with a new number."""
        parts = [getattr(run, name) for name in NOTHING]
        if parts != self._parts:
            self._number, self._parts = self._number + 1, parts
            return run.model_copy(update={"keep": self._number})
        return run.model_copy(update={**NOTHING, "kept": self._number})

    def forget(self) -> None:
        """Send the next turn whole: the process has lost its copy."""
        self._parts = []


class ReceivedTurnCache:
    """The process's copy of the shared parts."""

    def __init__(self) -> None:
        self._number = 0
        self._parts: dict[str, object] = {}

    def whole(self, run: TurnRun) -> TurnRun:
        """Return the turn with the shared parts filled in.

        Raises:
            RpcError: ``NOT_KEPT``: this process does not have the parts that the turn refers to.
        """
        if run.keep:
            self._number = run.keep
            self._parts = {name: getattr(run, name) for name in NOTHING}
        if not run.kept:
            return run
        if run.kept != self._number:
            problem = f"the shared parts {run.kept} are not here; send the turn whole"
            raise RpcError(NOT_KEPT, problem)
        return run.model_copy(update=self._parts)
