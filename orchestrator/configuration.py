"""agents.json while the daemon runs: read it, refuse or apply it, keep the last good copy.

An edit with an error is refused as a whole and reported; the configuration in force stays. At boot
a broken file is replaced by the last good copy, so that a bad edit cannot stop the daemon.
"""

import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from pathlib import Path

import anyio
import structlog
from anyio.lowlevel import checkpoint
from watchfiles import awatch

from orchestrator import agentsfile, keys_file
from orchestrator.agentsfile import AgentsFile, AgentsFileError, LoadedConfig, Problem
from orchestrator.agentsfile.problems import MAX_PROBLEMS
from orchestrator.files import OffLoop, off_loop, write_private
from orchestrator.hands.hand_servers import hand_servers, prepare
from orchestrator.home_paths import bundled
from orchestrator.keys_file import Keys
from orchestrator.loop_owned import LoopOwned
from orchestrator.processes.launch import Endpoint, build_launch_spec, relevant, resolve_endpoint
from orchestrator.processes.local_models import local_servers
from orchestrator.processes.supervisor import Supervisor
from orchestrator.prompts.library import PromptLibrary
from orchestrator.prompts.skill_checks import skill_problems
from orchestrator.settings import TOKEN, Settings
from orchestrator.timezones import host_timezone
from orchestrator.tools.mcp.servers import McpServers
from orchestrator.wakeup import Wakeup, when_canceled
from orchestrator.watching import FileWatch, Watch, follow
from thinker.formats.regular_file import FileError, Folder
from thinker.protocol.providers import key_variables

MAX_WATCHED = 4096  # folders; by default the kernel allows a user at least 8192 watches
log = structlog.get_logger()


async def _none_moved() -> Mapping[str, str]:
    return {}


class Configuration(LoopOwned):
    """The configuration in force, and the problems of the file on disk."""

    def __init__(
        self,
        settings: Settings,
        environ: dict[str, str],
        local: Callable[[], Awaitable[tuple[Endpoint, ...]]] = local_servers,
        watch: FileWatch = awatch,
        moved: Callable[[], Awaitable[Mapping[str, str]]] = _none_moved,
        off_loop: OffLoop = off_loop,
        clock: Callable[[], int] = lambda: round(time.time() * 1000),
    ) -> None:
        """Name the file; ``moved`` returns the first ids of moved Telegram chats by the new ids.

        ``environ`` is the daemon's; what it does not set is kept as the file of keys says.
        ``clock`` returns milliseconds since the epoch.
        """
        self._settings = settings
        self._off_loop = off_loop
        self._environ = environ
        self._own = {name: value for name, value in environ.items() if value}
        self._keys = Keys()
        self._clock = clock
        self._local = local
        self._watch_paths = watch
        self._moved = moved
        self.path = settings.agents_file()
        self.file = AgentsFile.model_construct(agents=())
        self.prompts = PromptLibrary(settings)
        self._in_force: LoadedConfig | None = None
        self._in_keys: tuple[Problem, ...] = ()
        self._in_file: tuple[Problem, ...] = ()
        self._in_prompts: tuple[Problem, ...] = ()
        self._in_skills: tuple[Problem, ...] = ()
        self.fallen_back = False
        self._version: tuple[object, ...] = ()
        self._applied = Wakeup()

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What is wrong with agents.json, the prompts and the skills."""
        found = (*self._in_keys, *self._in_file, *self._in_prompts, *self._in_skills)
        return found[:MAX_PROBLEMS]

    def where(self, agent_id: str, field: str) -> str:
        """Return the place of an agent's field, such as ``agents.json:12``."""
        line = 0 if self._in_force is None else self._in_force.line(agent_id, field)
        return f"{self.path.name}:{line}" if line else self.path.name

    async def boot(self) -> None:
        """Read the file, or its last good copy.

        Raises:
            ConfigError: neither can be used.
        """
        await self._read_keys()
        try:
            loaded = await self._load(self.path)
        except AgentsFileError as error:
            try:
                self._adopt(await self._load(self._settings.paths.last_good))
            except AgentsFileError:
                raise error from None
            log.error("config_broken_using_last_good", problem=str(error))
            self._in_file = self._told(error.problems, self._in_file)
            self.fallen_back = True
        else:
            self._in_file = self._told(loaded.problems, self._in_file)
            self._adopt(loaded)
            if not loaded.errors:
                await self._keep(loaded.data)
        await self._read_prompts()
        await self._read_skills()

    async def read(self) -> bool:
        """Read the file and the prompts again; return whether the file is valid and in force."""
        await self._read_keys()
        good = await self._read_file()
        await self._read_prompts()
        await self._read_skills()
        return good

    async def _read_keys(self) -> None:
        """Let the file of keys apply as it is now."""
        try:
            self._version = await self._off_loop(self._stamps)
            keys = await self._off_loop(keys_file.read, self._settings.home, self._own)
        except TimeoutError as error:
            problem = Problem.unusable(self._settings.paths.keys, f"cannot be read: {error}")
            keys = Keys(self._keys.values, (problem,))
        for name in self._keys.values.keys() - self._own.keys():
            self._environ.pop(name, None)
        self._environ.update(keys.under(self._own))
        self._keys = keys
        self._in_keys = self._told((*keys.problems, *self._changed_token()), self._in_keys)

    async def _read_file(self) -> bool:
        with suppress(TimeoutError):  # what reads the file tells of it
            self.path = await self._off_loop(self._settings.agents_file)
        try:
            loaded = await self._load(self.path)
        except AgentsFileError as error:
            self._in_file = self._told(error.problems, self._in_file)
            log.error("config_refused", problem=str(error))
            return False
        self._in_file = self._told(loaded.problems, self._in_file)
        if loaded.errors:
            log.error("config_refused", errors=len(loaded.errors))
            return False
        self._adopt(loaded)
        self.fallen_back = False
        await self._keep(loaded.data)
        return True

    def _adopt(self, loaded: LoadedConfig) -> None:
        self.file = loaded.file
        self._in_force = replace(loaded, data=b"")

    async def _load(self, path: Path) -> LoadedConfig:
        """Load a file.

        Raises:
            AgentsFileError: it cannot be used, or its file system does not answer.
        """
        moved = await self._moved()
        try:
            return await self._off_loop(
                agentsfile.load,
                path,
                self._settings.with_token(self._environ),
                moved,
                self._settings.home,
            )
        except TimeoutError as error:
            raise AgentsFileError([Problem.unusable(path, f"cannot be read: {error}")]) from error

    async def apply(self, supervisor: Supervisor, servers: McpServers) -> None:
        """Apply the configuration to agents and MCP servers; unchanged ones keep their process."""
        paths = self._settings.paths
        hands = hand_servers(self.file, paths)
        if hands:
            await self._off_loop(prepare, self.file, paths)
        await servers.define(self.file.mcp_servers, hands, self.file.sandbox)
        self._applied.wake()
        local = await self._local() if self._needs_local() else ()
        usable, environ = self.file.usable(), relevant(self._environ, self.file.known_providers)
        templates = self.prompts.templates
        for agent_id, slot in list(supervisor.slots.items()):
            if agent_id not in usable and slot.spec.parent is None:
                supervisor.remove(agent_id)
        for definition in self.file.agents:
            if definition.agent_id in usable:
                with_model = self.prompts.with_model(definition, self.file)
                endpoint = own = resolve_endpoint(with_model, environ, local)
                if with_model is not definition:
                    own = resolve_endpoint(definition, environ, local)
                spec = build_launch_spec(
                    *(with_model, self._settings, endpoint, environ, templates),
                    sandbox=self.file.sandbox,
                    own=own,
                )
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
        stopped = anyio.Event()
        means = stopped, self._off_loop, self._watch_paths
        async with anyio.create_task_group() as tasks:
            compare = partial(tasks.start_soon, self._notice_earlier_edit, on_change)
            scan = partial(tasks.start_soon, self._scan_skills, on_skill)
            tasks.start_soon(when_canceled, stopped.set)  # which alone ends the watchers' threads
            edited = partial(self._notice_edit, on_change)
            tasks.start_soon(follow, self._files, compare, edited, *means)
            # The scan follows an edit as the watch begins anew.
            tasks.start_soon(follow, self._skill_folders, scan, checkpoint, *means)

    async def _notice_earlier_edit(self, on_change: Callable[[], Awaitable[object]]) -> None:
        """Report an edit between the last read of the files and the start of the watch."""
        with suppress(TimeoutError):
            if await self._off_loop(self._stamps) != self._version:
                await on_change()

    async def _notice_edit(self, on_change: Callable[[], Awaitable[object]]) -> None:
        """Report an edit, unless it left all as it was read, such as a mode that was set again."""
        try:
            same = await self._off_loop(self._stamps) == self._version
        except TimeoutError:
            same = False  # what reads the files tells of it
        if not same:
            await on_change()

    def _files(self) -> Watch:
        """Return agents.json, the keys and the prompts; missing keys are not watched."""
        paths, settings = self._settings.paths, self._settings
        keys = (paths.keys,) if paths.keys.is_file() else ()
        # A push may bring the first one; beside a journal's file each write would be reported.
        first = () if settings.store is None else (settings.home / "agents.json",)
        named = settings.agents_file(), *first, *keys, *settings.named_prompts
        return Watch.of(named, (paths.prompts,))

    def _skill_folders(self) -> Watch:
        """Return the folders in which a SKILL.md may be written, or a folder for one."""
        paths = self._settings.paths
        personas = _folders_in(paths.personas)
        own = [persona / "skills" for persona in personas]
        parents = (paths.skills, *own)
        found = chain((paths.personas,), personas, parents, *map(_folders_in, parents))
        return Watch.of((), islice(found, MAX_WATCHED))

    def _stamps(self) -> tuple[object, ...]:
        """Return a value that changes with every edit of agents.json, a key or a prompt."""
        prompts, keys = self._settings.paths.prompts, self._settings.paths.keys
        path = self._settings.agents_file()
        named = path, keys, *self._settings.named_prompts
        try:
            files = [prompts / name for name in Folder(prompts).names()]
        except FileError as error:
            return _edition(path), _edition(keys), str(error)
        return tuple((path, _edition(path)) for path in (*named, *files))

    async def _scan_skills(self, on_skill: Callable[[], None]) -> None:
        await self._read_skills()
        on_skill()

    async def _read_skills(self) -> None:
        before, zone = self._in_skills, host_timezone(self._environ)
        arguments = self._settings, self.file, zone, self._clock()
        try:
            found = await self._off_loop(skill_problems, *arguments)
        except TimeoutError as error:
            found = (Problem.unusable(self._settings.paths.skills, str(error)),)
        found = found if self._in_force is None else self._in_force.located(found)
        self._in_skills = self._told(found, before)

    def _needs_local(self) -> bool:
        keys = key_variables(self.file.known_providers)
        automatic = any(definition.llm_provider == "auto" for definition in self.file.agents)
        return automatic and not any(self._environ.get(key) for key in keys)

    async def _read_prompts(self) -> None:
        try:
            self.prompts.adopt(await self._off_loop(self.prompts.examine, self.file))
            await self._off_loop(self.prompts.store_last_good)
        except TimeoutError as error:
            self.prompts.not_read(str(error))
        found, loaded = self.prompts.problems, self._in_force
        found = found if loaded is None else loaded.located(found)
        self._in_prompts = self._told(found, self._in_prompts)

    def _changed_token(self) -> tuple[Problem, ...]:
        """Return a warning if Telegram does not run with the token that is set now."""
        used, now = self._settings.telegram_bot_token, self._environ.get(TOKEN)
        if not now or (used is not None and used.get_secret_value() == now):
            return ()
        message = f"{TOKEN} is not the one that the daemon started with; restart the daemon"
        return (Problem("warning", str(self._settings.paths.keys), 0, None, "", message),)

    def _told(
        self, problems: tuple[Problem, ...], before: tuple[Problem, ...]
    ) -> tuple[Problem, ...]:
        """Log the problems that are new; return all."""
        problems = problems[:MAX_PROBLEMS]
        for problem in problems:
            if problem not in before:
                emit = log.error if problem.severity == "error" else log.warning
                emit("config_problem", problem=str(problem))
        return problems

    async def _keep(self, data: bytes) -> None:
        if self.path.parent == bundled("config"):
            return  # the bundled file cannot get lost, and each version has its own
        try:
            await self._off_loop(write_private, self._settings.paths.last_good, data)
        except OSError as error:
            log.warning("last_good_not_kept", problem=str(error))


def _edition(path: Path) -> tuple[int, ...] | None:
    """Return what changes with an edit of a file or of its mode; None if there is no file."""
    try:
        found = path.stat()
    except (OSError, ValueError):  # ValueError: a name with a NUL byte
        return None
    return found.st_dev, found.st_ino, found.st_mtime_ns, found.st_size, found.st_mode


def _folders_in(folder: Path) -> list[Path]:
    try:
        return [path for name in Folder(folder).names() if (path := folder / name).is_dir()]
    except (FileError, OSError):  # reported by the scan
        return []
