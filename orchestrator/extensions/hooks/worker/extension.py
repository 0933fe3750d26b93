"""Give the workers of agents with hooks their hooks."""

from collections.abc import Sequence

from orchestrator.extensions.hooks.worker.hooks import HookFiles, Hooks, HookState
from thinker.extension import WorkerExtension
from thinker.protocol.env import ThinkerSettings
from thinker.protocol.methods import TurnRun


class HooksWorker(WorkerExtension):
    """Loads hooks, and keeps those of the agent."""

    def __init__(self) -> None:
        self._kept: tuple[ThinkerSettings, HookFiles] | None = None

    def load_hooks(
        self, settings: ThinkerSettings, turn: TurnRun, names: Sequence[str]
    ) -> Hooks | None:
        if settings.hooks_dir is None:
            return None
        if self._kept is None or self._kept[0] is not settings:
            self._kept = settings, HookFiles(settings.hooks_dir)
        files = self._kept[1]
        state = HookState(settings.agent_id, turn.turn_id, turn.chat)
        return Hooks(state, tuple((name, files.load_hook(name)) for name in names))
