"""Run the model's server as a process of the daemon while an agent uses it."""

import asyncio
import sys
from collections.abc import Iterable
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from subprocess import DEVNULL, PIPE

import anyio
import structlog

from orchestrator.agentsfile import AgentsFile
from orchestrator.agentsfile.model_costs import list_models
from orchestrator.child_signals import stop_child
from orchestrator.extension import DaemonView, Part
from orchestrator.extensions.local_model.llama_server import LIBRARY, UNUSABLE
from orchestrator.extensions.local_model.model_settings import LocalModelSettings
from orchestrator.wakeup import Wakeup
from thinker.protocol.env import select_inherited_variables
from thinker.protocol.providers import PROVIDERS

PROVIDER = "local"
PORT = int(PROVIDERS[PROVIDER].base_url.rpartition(":")[2].partition("/")[0])
SERVER = "orchestrator.extensions.local_model.llama_server"
REMEDY = "run: orchestrator local-model"
FIRST_WAIT, LONGEST_WAIT = 1.0, 60.0  # seconds before a server that ended is started again
STEADY = 60.0  # seconds after which an end counts as the first one
WITHIN = 5.0  # seconds for the server to end
log = structlog.get_logger()


def uses_local_model(file: AgentsFile) -> bool:
    """Return whether an enabled agent may call the model of this machine."""
    models = (name for agent in file.agents if agent.enabled for name in list_models(agent))
    return any(name.startswith(f"{PROVIDER}/") for name in models)


def find_problem(file: AgentsFile, home: Path) -> str:
    """Return why the server cannot be started and what to do; empty if it can."""
    if find_spec(LIBRARY) is None:
        return f"llama.cpp ({LIBRARY}) is not installed; {REMEDY}"
    path = file.extensions.get_settings(LocalModelSettings).find_file(home)
    return "" if path.is_file() else f"{path} does not exist; {REMEDY}"


class LocalModelPart(Part):
    """Starts the server when agents.json needs it, and again when it ended."""

    def __init__(self, daemon: DaemonView) -> None:
        super().__init__(daemon)
        self._changes = Wakeup()
        self._problem = ""

    async def run(self) -> None:
        wait = FIRST_WAIT
        while True:
            changed = self._changes.changed
            file = self.daemon.get_agents_file()
            if not uses_local_model(file):
                self._problem = ""
                await changed.wait()
                continue
            self._problem = find_problem(file, self.daemon.settings.home)
            began = anyio.current_time()
            if not self._problem:
                await self._run_server(file.extensions.get_settings(LocalModelSettings), changed)
            wait = FIRST_WAIT if anyio.current_time() - began > STEADY else wait
            with anyio.move_on_after(0.0 if changed.is_set() else wait) as waiting:
                await changed.wait()
            wait = min(LONGEST_WAIT, 2 * wait) if waiting.cancelled_caught else FIRST_WAIT

    def adopt_configuration(self, old: AgentsFile, new: AgentsFile) -> None:
        settings = [file.extensions.get_settings(LocalModelSettings) for file in (old, new)]
        if settings[0] != settings[1] or uses_local_model(old) is not uses_local_model(new):
            self._changes.wake()

    def list_hints(self) -> Iterable[str]:
        return (f"local model: {self._problem}",) if self._problem else ()

    async def _run_server(self, settings: LocalModelSettings, changed: asyncio.Event) -> None:
        """Run the server until it ends or the settings change."""
        path = settings.find_file(self.daemon.settings.home)
        numbers = (PORT, settings.context_tokens, settings.used_threads)
        command = [sys.executable, "-P", "-m", SERVER, str(path), *map(str, numbers)]
        environ = select_inherited_variables(self.daemon.environ)
        process = await anyio.open_process(
            command, stdin=PIPE, stdout=DEVNULL, stderr=DEVNULL, env=environ
        )
        log.info("local_model_started", pid=process.pid, file=path.name, port=PORT)
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_cancel_after, changed, tasks.cancel_scope)
                code = await process.wait()
                tasks.cancel_scope.cancel()
                why = "llama.cpp cannot serve the file" if code == UNUSABLE else "it ended"
                self._problem = f"{why} (exit code {code}); is port {PORT} free, and {path} whole?"
                log.error("local_model_ended", code=code, problem=self._problem)
        finally:
            with anyio.CancelScope(shield=True), suppress(ProcessLookupError):
                await stop_child(process, WITHIN)
                await process.aclose()


async def _cancel_after(changed: asyncio.Event, scope: anyio.CancelScope) -> None:
    await changed.wait()
    scope.cancel()
