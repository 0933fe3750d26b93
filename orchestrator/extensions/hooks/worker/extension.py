"""Give the workers of agents with hooks their hooks."""

from collections.abc import Sequence
from pathlib import Path

from orchestrator.extensions.hooks.worker.hooks import HookFiles, Hooks, HookState
from thinker.extension import WorkerExtension
from thinker.protocol.env import ThinkerSettings
from thinker.protocol.methods import TurnRun


class HooksWorker(WorkerExtension):
    """Loads hooks, and keeps those of each directory."""

    def __init__(self) -> None:
        self._files: dict[Path, HookFiles] = {}

    def load_hooks(
        self, settings: ThinkerSettings, turn: TurnRun, names: Sequence[str]
    ) -> Hooks | None:
        if settings.hooks_dir is None:
            return None
        files = self._files.setdefault(settings.hooks_dir, HookFiles(settings.hooks_dir))
        state = HookState(settings.agent_id, turn.turn_id, turn.chat)
        return Hooks(state, tuple((name, files.load_hook(name)) for name in names))
