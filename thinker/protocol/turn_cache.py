"""What the turns of an agent have in common, which a process is sent once.

Tools, playbooks, skills and the prompt definition are nearly all of a `TurnRun`, and change when
somebody edits them. A process keeps the newest that it was sent, under a number; turns name it.
"""

from thinker.protocol.methods import TurnRun
from thinker.protocol.peer import RpcError

NOT_KEPT = -32004  # error code: the turn is to be sent whole
NOTHING = {"prompt": None, "playbooks": (), "skills": (), "tools": ()}


class SentTurnCache:
    """What one process was told, as its supervisor knows it."""

    def __init__(self) -> None:
        self._number = 0
        self._parts: list[object] = []

    def shortened(self, run: TurnRun) -> TurnRun:
        """The turn without what the process keeps, or whole and to be kept."""
        parts = [getattr(run, name) for name in NOTHING]
        if parts != self._parts:
            self._number, self._parts = self._number + 1, parts
            return run.model_copy(update={"keep": self._number})
        return run.model_copy(update={**NOTHING, "kept": self._number})

    def forget(self) -> None:
        """The process does not keep it after all."""
        self._parts = []


class ReceivedTurnCache:
    """The same in that process."""

    def __init__(self) -> None:
        self._number = 0
        self._parts: dict[str, object] = {}

    def whole(self, run: TurnRun) -> TurnRun:
        """The turn with what it has in common with others.

        Raises:
            RpcError: ``NOT_KEPT``: another process was told, or something else since.
        """
        if run.keep:
            self._number = run.keep
            self._parts = {name: getattr(run, name) for name in NOTHING}
        if not run.kept:
            return run
        if run.kept != self._number:
            raise RpcError(NOT_KEPT, f"what turns have in common as of {run.kept} is not here")
        return run.model_copy(update=self._parts)
