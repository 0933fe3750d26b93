"""agents.json while the daemon runs: read it, refuse or apply it, keep the last good copy.

An edit with an error is refused as a whole and reported; the current configuration stays. At boot
a broken file is replaced by the last good copy, so that a bad edit cannot stop the daemon.

Where: is an edit of agents.json applied live?
"""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from functools import partial
from itertools import chain, islice
from pathlib import Path

import anyio
import structlog
from anyio.lowlevel import checkpoint
from watchfiles import awatch

from orchestrator import agentsfile, keys_file
from orchestrator.agentsfile import (
    AgentDefinition,
    AgentsFile,
    AgentsFileError,
    LoadedConfig,
    Problem,
)
from orchestrator.agentsfile.problems import MAX_PROBLEMS
from orchestrator.agentsfile.prompt_edit import PromptEdit, find_prompt_edit
from orchestrator.files import OffLoop, run_off_loop, write_private
from orchestrator.home_paths import find_bundled_path
from orchestrator.keys_file import Keys
from orchestrator.loop_bound import LoopBound
from orchestrator.processes.launch import (
    Endpoint,
    build_launch_spec,
    resolve_endpoint,
    select_environment,
)
from orchestrator.processes.local_models import find_local_servers
from orchestrator.processes.supervisor import Supervisor
from orchestrator.prompts.library import PromptLibrary
from orchestrator.prompts.skill_checks import check_skill_files
from orchestrator.settings import Settings
from orchestrator.tools.remote_tools import RemoteTools
from orchestrator.tools.tool_server import prepare_tool_servers
from orchestrator.wakeup import Wakeup, call_when_cancelled
from orchestrator.watching import FileWatch, Watch, follow_edits
from thinker.formats.regular_file import FileError, Folder
from thinker.protocol.providers import list_key_variables

AGENTS_AT_ONCE = 50  # launch specs built before other work has its turn; each takes 0.1 ms
MAX_WATCHED = 4096  # folders; by default the kernel allows a user at least 8192 watches
log = structlog.get_logger()


async def _list_no_moves() -> Mapping[str, Mapping[str, str]]:
    return {}


class Configuration(LoopBound):
    """The active configuration, and the problems of the file on disk."""

    def __init__(
        self,
        settings: Settings,
        environ: dict[str, str],
        local: Callable[[], Awaitable[tuple[Endpoint, ...]]] = find_local_servers,
        watch: FileWatch = awatch,
        moved: Callable[[], Awaitable[Mapping[str, Mapping[str, str]]]] = _list_no_moves,
        off_loop: OffLoop = run_off_loop,
    ) -> None:
        """Name the file; ``moved`` returns the first ids of moved chats, keyed by new id.

        ``environ`` is the daemon's environment; the file of keys sets what was not set in it.
        """
        self._settings = settings
        self._off_loop = off_loop
        self._environ = environ
        self._own = {name: value for name, value in environ.items() if value}
        self._keys = Keys()
        self._local = local
        self._watch_paths = watch
        self._moved = moved
        self.path = settings.find_agents_file()
        self.file = AgentsFile.model_construct(agents=())
        self.prompts = PromptLibrary(settings)
        self._active: LoadedConfig | None = None
        self._in_keys: tuple[Problem, ...] = ()
        self._in_file: tuple[Problem, ...] = ()
        self._in_prompts: tuple[Problem, ...] = ()
        self._in_skills: tuple[Problem, ...] = ()
        self.fallen_back = False
        self._version: tuple[object, ...] = ()
        self._applied_agents: dict[str, AgentDefinition] = {}  # whose launch specs are in force
        self._applied_with: tuple[object, ...] = ()  # on what else the specs depend
        self._applied = Wakeup()

    @property
    def loaded(self) -> LoadedConfig | None:
        """The active agents.json as it was read, without its bytes."""
        return self._active

    @property
    def environment(self) -> Mapping[str, str]:
        """The daemon's environment as it was at its start, without the keys of the home."""
        return self._own

    @property
    def problems(self) -> tuple[Problem, ...]:
        """The problems of agents.json, the prompts and the skills."""
        found = (*self._in_keys, *self._in_file, *self._in_prompts, *self._in_skills)
        return found[:MAX_PROBLEMS]

    def find_field_place(self, agent_id: str, field: str) -> str:
        """Return the line of an agent's field, such as ``agents.json:12``."""
        line = 0 if self._active is None else self._active.find_line(agent_id, field)
        return f"{self.path.name}:{line}" if line else self.path.name

    async def read_at_start(self) -> None:
        """Read the file, or its last good copy.

        Raises:
            ConfigError: neither file can be used.
        """
        await self._read_keys()
        try:
            loaded = await self._load_file(self.path)
        except AgentsFileError as error:
            try:
                self._adopt_loaded(await self._load_file(self._settings.paths.last_good))
            except AgentsFileError:
                raise error from None
            log.error("config_broken_using_last_good", problem=str(error))
            self._in_file = self._log_new_problems(error.problems, self._in_file)
            self.fallen_back = True
        else:
            self._in_file = self._log_new_problems(loaded.problems, self._in_file)
            self._adopt_loaded(loaded)
            if not loaded.errors:
                await self._store_last_good(loaded.data)
        await self._read_prompts()
        await self._read_skills()

    async def reread_files(self) -> bool:
        """Read the file and the prompts again; return whether the file is valid and active."""
        await self._read_keys()
        good = await self._read_file()
        await self._read_prompts()
        await self._read_skills()
        return good

    async def read_prompt_edit(self) -> PromptEdit | None:
        """Apply an edit that changes only one agent's prompt; return None for any other edit.

        Also returns None while other files have problems, which may be solved by now.
        """
        before = self._active
        wrong = self._in_keys or self._in_prompts or self._in_skills
        if before is None or before.errors or wrong or self.fallen_back:
            return None
        try:
            version, edit = await self._off_loop(self._find_prompt_edit, before)
        except TimeoutError:
            return None
        if edit is not None:
            self._version = version
            self._in_file = self._log_new_problems(edit.loaded.problems, self._in_file)
            self._adopt_loaded(edit.loaded)
            self._applied_agents.pop(edit.agent_id, None)
            await self._store_last_good(edit.loaded.data)
        return edit

    def _find_prompt_edit(
        self, before: LoadedConfig
    ) -> tuple[tuple[object, ...], PromptEdit | None]:
        """Return the prompt edit, if it is one, and the stamps collected before it."""
        version, path = self._collect_stamps(), self._settings.find_agents_file()
        others = version[1:] == self._version[1:] and path == self.path
        return version, find_prompt_edit(before, path) if others else None

    async def _read_keys(self) -> None:
        """Apply the current file of keys."""
        try:
            self._version = await self._off_loop(self._collect_stamps)
            keys = await self._off_loop(keys_file.read_keys, self._settings.home, self._own)
        except TimeoutError as error:
            problem = Problem.build_unusable(self._settings.paths.keys, f"cannot be read: {error}")
            keys = Keys(self._keys.values, (problem,))
        for name in self._keys.values.keys() - self._own.keys():
            self._environ.pop(name, None)
        self._environ.update(keys.merge_under(self._own))
        self._keys = keys
        self._in_keys = self._log_new_problems(keys.problems, self._in_keys)

    async def _read_file(self) -> bool:
        with suppress(TimeoutError):  # the reader of the file reports it
            self.path = await self._off_loop(self._settings.find_agents_file)
        try:
            loaded = await self._load_file(self.path)
        except AgentsFileError as error:
            self._in_file = self._log_new_problems(error.problems, self._in_file)
            log.error("config_refused", problem=str(error))
            return False
        self._in_file = self._log_new_problems(loaded.problems, self._in_file)
        if loaded.errors:
            log.error("config_refused", errors=len(loaded.errors))
            return False
        self._adopt_loaded(loaded)
        self.fallen_back = False
        await self._store_last_good(loaded.data)
        return True

    def _adopt_loaded(self, loaded: LoadedConfig) -> None:
        self.file = loaded.file
        self._active = loaded.without_values

    async def _load_file(self, path: Path) -> LoadedConfig:
        """Load the file.

        Raises:
            AgentsFileError: the file cannot be used, or its file system does not answer.
        """
        moved = await self._moved()
        try:
            return await self._off_loop(
                agentsfile.load_agents_file,
                path,
                self._environ,
                moved,
                self._settings.home,
                self._active,
            )
        except TimeoutError as error:
            raise AgentsFileError(
                [Problem.build_unusable(path, f"cannot be read: {error}")]
            ) from error

    async def apply_to_processes(self, supervisor: Supervisor, servers: RemoteTools) -> None:
        """Apply the configuration to agents and MCP servers; unchanged ones keep their process."""
        paths = self._settings.paths
        agent_servers = await self._off_loop(prepare_tool_servers, self.file, paths)
        await servers.define_servers(
            self.file.mcp_servers,
            agent_servers,
            self.file.sandbox,
            self.prompts.current_set.host_tools,
        )
        self._applied.wake()
        local = await self._local() if self._needs_local_servers() else ()
        usable, environ = (
            self.file.list_enabled_ids(),
            select_environment(self._environ, self.file.known_providers),
        )
        for number, (agent_id, slot) in enumerate(list(supervisor.slots.items())):
            if agent_id not in usable and slot.spec.parent is None:
                supervisor.remove_agent(agent_id)
                if number % AGENTS_AT_ONCE == 0:
                    await checkpoint()
        await self._define_changed_agents(supervisor, environ, local)

    async def _define_changed_agents(
        self, supervisor: Supervisor, environ: dict[str, str], local: tuple[Endpoint, ...]
    ) -> None:
        """Define the enabled agents whose launch specs may have changed, a few at once."""
        prompts, file, usable = self.prompts.current_set, self.file, self.file.list_enabled_ids()
        stored = await self._off_loop(_list_names, self._settings.paths.agent_prompts)
        shared = environ, local, dict(prompts.templates), file.sandbox
        known = self._applied_agents if shared == self._applied_with else {}
        self._applied_agents, self._applied_with = {}, shared
        built = 0
        for definition in file.agents:
            agent_id = definition.agent_id
            if agent_id not in usable:
                continue
            with_model = prompts.apply_prompt_model(definition, file)
            if with_model is definition:
                self._applied_agents[agent_id] = definition
                if known.get(agent_id) is definition and agent_id in supervisor.slots:
                    continue
            endpoint = own = resolve_endpoint(with_model, environ, local)
            if with_model is not definition:
                own = resolve_endpoint(definition, environ, local)
            spec = build_launch_spec(
                with_model,
                self._settings,
                endpoint,
                environ,
                prompts.templates,
                sandbox=file.sandbox,
                own=own,
            )
            had_prompt = spec.prompt_path.name in stored
            supervisor.define_agent(spec, definition.idle_timeout_minutes, had_prompt=had_prompt)
            built += 1
            if built % AGENTS_AT_ONCE == 0:
                await checkpoint()

    async def wait_for_change(self) -> None:
        """Wait until another configuration is active."""
        await self._applied.changed.wait()

    async def watch_files(
        self, on_change: Callable[[], Awaitable[object]], on_skill: Callable[[], None]
    ) -> None:
        """Call ``on_change`` for each edit of the file or a prompt, ``on_skill`` for skills.

        Problems of edited skills are logged.
        """
        stopped = anyio.Event()
        means = stopped, self._off_loop, self._watch_paths
        async with anyio.create_task_group() as tasks:
            compare = partial(tasks.start_soon, self._notice_earlier_edit, on_change)
            scan = partial(tasks.start_soon, self._scan_skills, on_skill)
            tasks.start_soon(
                call_when_cancelled, stopped.set
            )  # only this ends the watchers' threads
            edited = partial(self._notice_edit, on_change)
            tasks.start_soon(follow_edits, self._build_file_watch, compare, edited, *means)
            # The scan follows an edit as the watch begins anew.
            tasks.start_soon(follow_edits, self._build_skill_watch, scan, checkpoint, *means)

    async def _notice_earlier_edit(self, on_change: Callable[[], Awaitable[object]]) -> None:
        """Report an edit made between the last read and the start of the watch."""
        with suppress(TimeoutError):
            if await self._off_loop(self._collect_stamps) != self._version:
                await on_change()

    async def _notice_edit(self, on_change: Callable[[], Awaitable[object]]) -> None:
        """Report an edit, unless it changed nothing, such as a mode that was set again."""
        try:
            same = await self._off_loop(self._collect_stamps) == self._version
        except TimeoutError:
            same = False  # the reader of the files reports it
        if not same:
            await on_change()

    def _build_file_watch(self) -> Watch:
        """Return agents.json, the keys and the prompts; missing keys are not watched."""
        paths, settings = self._settings.paths, self._settings
        keys = (paths.keys,) if paths.keys.is_file() else ()
        used = settings.find_agents_file()
        # The first one may come; until then each write of a journal beside it is reported.
        bundled = used.parent == find_bundled_path("config")
        first = (settings.home / "agents.json",) if bundled or settings.store is not None else ()
        named = used, *first, *keys, *settings.named_prompts
        return Watch.from_paths(named, (paths.prompts,))

    def _build_skill_watch(self) -> Watch:
        """Watch the folders in which a SKILL.md, or a folder for one, may appear."""
        paths = self._settings.paths
        personas = _list_folders(paths.personas)
        own = [persona / "skills" for persona in personas]
        parents = (paths.skills, *own)
        found = chain((paths.personas,), personas, parents, *map(_list_folders, parents))
        return Watch.from_paths((), islice(found, MAX_WATCHED))

    def _collect_stamps(self) -> tuple[object, ...]:
        """Return a value that changes with every edit of agents.json, a key or a prompt."""
        prompts, keys = self._settings.paths.prompts, self._settings.paths.keys
        path = self._settings.find_agents_file()
        named = path, keys, *self._settings.named_prompts
        try:
            files = [prompts / name for name in Folder(prompts).list_names()]
        except FileError as error:
            return _read_stamp(path), _read_stamp(keys), str(error)
        return tuple((path, _read_stamp(path)) for path in (*named, *files))

    async def _scan_skills(self, on_skill: Callable[[], None]) -> None:
        await self._read_skills()
        on_skill()

    async def _read_skills(self) -> None:
        before = self._in_skills
        try:
            found = await self._off_loop(check_skill_files, self._settings, self.file)
        except TimeoutError as error:
            found = (Problem.build_unusable(self._settings.paths.skills, str(error)),)
        found = found if self._active is None else self._active.locate_problems(found)
        self._in_skills = self._log_new_problems(found, before)

    def _needs_local_servers(self) -> bool:
        keys = list_key_variables(self.file.known_providers)
        automatic = any(definition.llm_provider == "auto" for definition in self.file.agents)
        return automatic and not any(self._environ.get(key) for key in keys)

    async def _read_prompts(self) -> None:
        try:
            self.prompts.adopt_set(await self._off_loop(self.prompts.examine_files, self.file))
            await self._off_loop(self.prompts.store_last_good)
        except TimeoutError as error:
            self.prompts.report_unread(str(error))
        found, loaded = self.prompts.current_set.problems, self._active
        found = found if loaded is None else loaded.locate_problems(found)
        self._in_prompts = self._log_new_problems(found, self._in_prompts)

    def _log_new_problems(
        self, problems: tuple[Problem, ...], before: tuple[Problem, ...]
    ) -> tuple[Problem, ...]:
        """Log new problems; return all."""
        problems = problems[:MAX_PROBLEMS]
        for problem in problems:
            if problem not in before:
                emit = log.error if problem.severity == "error" else log.warning
                emit("config_problem", problem=str(problem))
        return problems

    async def _store_last_good(self, data: bytes) -> None:
        if self.path.parent == find_bundled_path("config"):
            return  # the bundled file cannot get lost, and each release has its own
        try:
            await self._off_loop(write_private, self._settings.paths.last_good, data)
        except OSError as error:
            log.warning("last_good_not_kept", problem=str(error))


def _read_stamp(path: Path) -> tuple[int, ...] | None:
    """Return a value that changes with each edit of a file or its mode; None without a file."""
    try:
        found = path.stat()
    except (OSError, ValueError):  # ValueError: a name with a NUL byte
        return None
    return found.st_dev, found.st_ino, found.st_mtime_ns, found.st_size, found.st_mode


def _list_names(folder: Path) -> frozenset[str]:
    """Return the names in a folder, which may be missing or unreadable."""
    try:
        return frozenset(path.name for path in folder.iterdir())
    except OSError:
        return frozenset()


def _list_folders(folder: Path) -> list[Path]:
    try:
        return [path for name in Folder(folder).list_names() if (path := folder / name).is_dir()]
    except (FileError, OSError):  # reported by the scan
        return []
