"""Run the models' servers as processes of the daemon while an agent uses them."""

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from subprocess import DEVNULL

import anyio
import structlog

from orchestrator.agentsfile import AgentsFile
from orchestrator.child_signals import stop_child
from orchestrator.extension import DaemonView, Part
from orchestrator.extensions.local_model.served_programs import (
    PROGRAMS,
    ServedProgram,
    build_command,
    find_port,
)
from orchestrator.processes.own_programs import open_program
from orchestrator.wakeup import Wakeup
from thinker.protocol.env import select_inherited_variables

FIRST_WAIT, LONGEST_WAIT = 1.0, 60.0  # seconds before a server that ended is started again
STEADY = 60.0  # seconds after which an end counts as the first one
WITHIN = 5.0  # seconds for the server to end
log = structlog.get_logger()


class LocalModelPart(Part):
    """Starts the servers that agents.json needs, and each again when it ended."""

    def __init__(self, daemon: DaemonView) -> None:
        super().__init__(daemon)
        self._keepers = {name: _ServerKeeper(daemon, program) for name, program in PROGRAMS.items()}

    async def run(self) -> None:
        async with anyio.create_task_group() as tasks:
            for keeper in self._keepers.values():
                tasks.start_soon(keeper.run)

    def adopt_configuration(self, old: AgentsFile, new: AgentsFile) -> None:
        for keeper in self._keepers.values():
            keeper.adopt_configuration(old, new)

    def list_hints(self) -> Iterable[str]:
        found = ((name, keeper.problem) for name, keeper in self._keepers.items())
        return tuple(f"{name}: {problem}" for name, problem in found if problem)


class _ServerKeeper:
    """Keeps one server running while it is needed; ``problem`` says why it does not run."""

    def __init__(self, daemon: DaemonView, program: ServedProgram) -> None:
        self.problem = ""
        self._daemon = daemon
        self._program = program
        self._changes = Wakeup()

    @property
    def _home(self) -> Path:
        return self._daemon.settings.home

    async def run(self) -> None:
        wait = FIRST_WAIT
        while True:
            changed = self._changes.changed
            file = self._daemon.get_agents_file()
            if not self._program.is_needed(file):
                self.problem = ""
                await changed.wait()
                continue
            self.problem = self._program.find_problem(file, self._home)
            began = anyio.current_time()
            if not self.problem:
                await self._run_server(file, changed)
            wait = FIRST_WAIT if anyio.current_time() - began > STEADY else wait
            with anyio.move_on_after(0.0 if changed.is_set() else wait) as waiting:
                await changed.wait()
            wait = min(LONGEST_WAIT, 2 * wait) if waiting.cancelled_caught else FIRST_WAIT

    def adopt_configuration(self, old: AgentsFile, new: AgentsFile) -> None:
        """Start, stop or restart the server if the files differ in what it needs.

        One that could not run is tried at once: what it lacked may be there.
        """
        program = self._program
        before, after = (
            program.list_arguments(file, self._home) if program.is_needed(file) else None
            for file in (old, new)
        )
        if self.problem or before != after:
            self._changes.wake()

    async def _run_server(self, file: AgentsFile, changed: asyncio.Event) -> None:
        """Run the server until it ends or the settings change."""
        command = build_command(self._program, file, self._home)
        environ = select_inherited_variables(self._daemon.environ)
        provider = self._program.provider
        async with open_program(command, stdout=DEVNULL, environ=environ) as process:
            port = find_port(provider)
            log.info("local_model_started", pid=process.pid, model=provider, port=port)
            try:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(_cancel_after, changed, tasks.cancel_scope)
                    code = await process.wait()
                    tasks.cancel_scope.cancel()
                    self.problem = self._program.explain_end(file, self._home, code)
                    log.error("local_model_ended", code=code, problem=self.problem)
            finally:
                with anyio.CancelScope(shield=True), suppress(ProcessLookupError):
                    await stop_child(process, WITHIN)


async def _cancel_after(changed: asyncio.Event, scope: anyio.CancelScope) -> None:
    await changed.wait()
    scope.cancel()
