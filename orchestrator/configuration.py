"""agents.json while the daemon runs: read it, refuse or apply it, keep the last good copy.

An edit with an error is refused as a whole and reported; the configuration in force stays. At boot
a broken file is replaced by the last good copy, so that a bad edit cannot stop the daemon.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from functools import partial
from pathlib import Path

import anyio
import structlog
from anyio.abc import TaskGroup
from watchfiles import awatch

from orchestrator import agentsfile
from orchestrator.agentsfile import AgentsFile, AgentsFileError, Problem
from orchestrator.errors import ConfigError
from orchestrator.files import write_private
from orchestrator.processes.launch import Endpoint, build_launch_spec, resolve_endpoint
from orchestrator.processes.local_models import local_servers
from orchestrator.processes.supervisor import Supervisor
from orchestrator.prompts.library import PromptLibrary
from orchestrator.settings import Settings, bundled
from orchestrator.tools.mcp.servers import McpServers
from orchestrator.wakeup import Wakeup
from thinker.formats.skill_file import scan
from thinker.protocol.providers import PROVIDERS

DEBOUNCE = 400  # longest delay of a reported edit, in milliseconds
STEP = 100  # milliseconds without a change that end an edit: editors write a file in several steps
log = structlog.get_logger()


class Configuration:
    """The configuration in force, and the problems of the file on disk."""

    def __init__(
        self,
        settings: Settings,
        environ: Mapping[str, str],
        local: Callable[[], Awaitable[tuple[Endpoint, ...]]] = local_servers,
    ) -> None:
        self._settings = settings
        self._environ = environ
        self._local = local
        self.path = settings.agents_file()
        self.file = AgentsFile.model_construct(agents=())
        self.prompts = PromptLibrary(settings)
        self.problems: tuple[Problem, ...] = ()
        self.skill_problems: tuple[str, ...] = ()
        self.fallen_back = False
        self._version: tuple[int, ...] = ()
        self._applied = Wakeup()

    def boot(self) -> None:
        """Read the file, or its last good copy.

        Raises:
            ConfigError: neither can be used.
        """
        self._version = _version(self.path)
        try:
            loaded = agentsfile.load(self.path, self._environ)
        except ConfigError as error:
            if not self._settings.paths.last_good.exists():
                raise
            log.error("config_broken_using_last_good", problem=str(error))
            self.problems = error.problems if isinstance(error, AgentsFileError) else ()
            self.file = agentsfile.load(self._settings.paths.last_good, self._environ).file
            self.fallen_back = True
            self._read_prompts()
            return
        self._report(loaded.problems)
        self.file = loaded.file
        if not loaded.errors:
            self._keep()
        self._read_prompts()

    def read(self) -> bool:
        """Read the file and the prompts again; return whether the file is valid and in force."""
        good = self._read_file()
        self._read_prompts()
        return good

    def _read_file(self) -> bool:
        self._version = _version(self.path)
        try:
            loaded = agentsfile.load(self.path, self._environ)
        except ConfigError as error:
            problems = error.problems if isinstance(error, AgentsFileError) else ()
            self._report(problems)
            log.error("config_refused", problem=str(error))
            return False
        self._report(loaded.problems)
        if loaded.errors:
            log.error("config_refused", errors=len(loaded.errors))
            return False
        self.file = loaded.file
        self.fallen_back = False
        self._keep()
        return True

    async def apply(self, supervisor: Supervisor, servers: McpServers) -> None:
        """Apply the configuration to agents and MCP servers; unchanged ones keep their process."""
        servers.define(self.file.mcp_servers)
        self._applied.wake()
        local = await self._local() if self._needs_local() else ()
        usable = self.file.usable()
        for agent_id, slot in list(supervisor.slots.items()):
            if agent_id not in usable and slot.spec.parent is None:
                supervisor.remove(agent_id)
        for definition in self.file.agents:
            if definition.agent_id in usable:
                with_model = self.prompts.with_model(definition, self.file)
                endpoint = resolve_endpoint(with_model, self._environ, local)
                spec = build_launch_spec(with_model, self._settings, endpoint, self._environ)
                supervisor.define(spec, definition.idle_timeout_minutes)

    async def changed(self) -> None:
        """Wait until another configuration is in force."""
        await self._applied.changed.wait()

    async def watch(
        self, on_change: Callable[[], Awaitable[object]], on_skill: Callable[[], None]
    ) -> None:
        """Call ``on_change`` after each edit of the file or a prompt, ``on_skill`` of a skill.

        Problems of edited skills are logged.
        """
        self._scan_skills()
        stopped = anyio.Event()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_set_when_canceled, stopped)
            tasks.start_soon(self._watch_file, on_change, stopped, tasks)
            tasks.start_soon(self._watch_skills, on_skill, stopped)

    async def _notice_earlier_edit(self, on_change: Callable[[], Awaitable[object]]) -> None:
        """Report an edit between the last read of the file and the start of the watch."""
        if _version(self.path) != self._version:
            await on_change()

    async def _watch_file(
        self, on_change: Callable[[], Awaitable[object]], stopped: anyio.Event, tasks: TaskGroup
    ) -> None:
        prompts = self._settings.paths.prompts
        changed = True
        while changed:  # another file may have replaced it, which is not watched yet
            changed = False
            files = {self.path, self.path.resolve()}  # either end of a symbolic link may change
            # Tasks start in order, and the watcher below watches before it first waits.
            tasks.start_soon(self._notice_earlier_edit, on_change)
            edits = _edits(partial(_places, prompts, files), stopped, recursive=False)
            async with aclosing(edits):
                async for paths in edits:
                    if any(path in files or path.parent == prompts for path in paths):
                        await on_change()
                    changed = not files.isdisjoint(paths)
                    if changed:
                        break

    async def _watch_skills(self, on_skill: Callable[[], None], stopped: anyio.Event) -> None:
        folders = {self._settings.paths.skills, self._settings.paths.personas}
        # React to any path: a file in a new folder may be written before the folder is watched.
        async for _ in _edits(lambda: folders, stopped, recursive=True):
            self._scan_skills()
            on_skill()

    def _scan_skills(self) -> None:
        _, problems = scan((bundled("skills"), self._settings.paths.skills))
        if problems != self.skill_problems:
            for problem in problems:
                log.warning("skill_problem", problem=problem)
        self.skill_problems = problems

    def _needs_local(self) -> bool:
        keys = [provider.key_var for provider in PROVIDERS.values() if provider.key_var]
        automatic = any(definition.llm_provider == "auto" for definition in self.file.agents)
        return automatic and not any(self._environ.get(key) for key in keys)

    def _read_prompts(self) -> None:
        before = self.prompts.problems
        self.prompts.read(self.file)
        self.prompts.store_last_good()
        for problem in self.prompts.problems:
            if problem not in before:
                log.warning("prompt_problem", problem=str(problem))

    def _report(self, problems: tuple[Problem, ...]) -> None:
        for problem in problems:
            emit = log.error if problem.severity == "error" else log.warning
            emit("config_problem", problem=str(problem))
        self.problems = problems

    def _keep(self) -> None:
        if self.path.parent == bundled("config"):
            return  # the bundled file cannot get lost, and each version has its own
        try:
            write_private(self._settings.paths.last_good, self.path.read_bytes())
        except OSError as error:
            log.warning("last_good_not_kept", problem=str(error))


def _places(prompts: Path, files: set[Path]) -> set[Path]:
    return {prompts, *map(_watched, files)}


def _watched(file: Path) -> Path:
    """Return the path to watch for a file's edits.

    It is the file itself where possible: its folder may hold the journal, and the kernel would
    report each of the journal's writes, dozens for a message.
    """
    return file if file.is_file() and not file.is_symlink() else file.parent


def _version(path: Path) -> tuple[int, ...]:
    """Return a value that changes with every edit of a file; empty if there is no file."""
    try:
        found = path.stat()
    except OSError:
        return ()
    return found.st_ino, found.st_mtime_ns, found.st_size


async def _set_when_canceled(stopped: anyio.Event) -> None:
    """Set the event when the daemon stops; only the event ends the watcher's thread."""
    try:
        await anyio.sleep_forever()
    finally:
        stopped.set()


async def _edits(
    find: Callable[[], set[Path]], stopped: anyio.Event, *, recursive: bool
) -> AsyncGenerator[set[Path]]:
    """Yield the paths that each edit changed."""
    while True:
        places = find()
        edits = awatch(
            *places, debounce=DEBOUNCE, step=STEP, recursive=recursive, stop_event=stopped
        )
        try:
            async with aclosing(edits):
                async for changes in edits:
                    yield {Path(path) for _, path in changes}
        except OSError as error:  # a path is gone, or the kernel's limit of watches is reached
            await anyio.sleep(STEP / 1000)  # an editor may be replacing the file right now
            if not isinstance(error, FileNotFoundError) or not all(map(Path.exists, find())):
                log.error(
                    "edits_not_noticed", problem=f"{error}; run 'orchestrator reload' after an edit"
                )
                return
            yield places
        else:  # the daemon stops
            return
