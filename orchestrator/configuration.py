"""agents.json while the daemon runs: read it, refuse or apply it, keep the last good copy.

An edit with an error is refused as a whole and reported; the configuration in force stays. At boot
a broken file is replaced by the last good copy, so that a bad edit cannot stop the daemon.
"""

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
from orchestrator.keys_file import Keys
from orchestrator.loop_owned import LoopOwned
from orchestrator.processes.launch import Endpoint, build_launch_spec, resolve_endpoint
from orchestrator.processes.local_models import local_servers
from orchestrator.processes.supervisor import Supervisor
from orchestrator.prompts.library import PromptLibrary
from orchestrator.settings import Settings, bundled
from orchestrator.tools.mcp.servers import McpServers
from orchestrator.wakeup import Wakeup, when_canceled
from orchestrator.watching import FileWatch, Watch, follow
from thinker.formats.regular_file import FileError, Folder, identity
from thinker.formats.skill_file import scan
from thinker.protocol.providers import PROVIDERS

TOKEN = "TELEGRAM_BOT_TOKEN"  # noqa: S105 - a variable's name
MAX_WATCHED = 4096  # folders; by default the kernel allows a user at least 8192 watches
log = structlog.get_logger()


class Configuration(LoopOwned):
    """The configuration in force, and the problems of the file on disk."""

    def __init__(
        self,
        settings: Settings,
        environ: dict[str, str],
        local: Callable[[], Awaitable[tuple[Endpoint, ...]]] = local_servers,
        watch: FileWatch = awatch,
        moved: Callable[[], Mapping[str, str]] = dict,
        off_loop: OffLoop = off_loop,
    ) -> None:
        """Name the file; ``moved`` returns the first ids of moved Telegram chats by the new ids.

        ``environ`` is the daemon's; what it does not set is kept as the file of keys says.
        """
        self._settings = settings
        self._off_loop = off_loop
        self._environ = environ
        self._own = {name: value for name, value in environ.items() if value}
        self._keys = Keys()
        self._local = local
        self._watch_paths = watch
        self._moved = moved
        self.path = settings.agents_file()
        self.file = AgentsFile.model_construct(agents=())
        self.prompts = PromptLibrary(settings)
        self.problems: tuple[Problem, ...] = ()
        self.skill_problems: tuple[str, ...] = ()
        self.fallen_back = False
        self._version: tuple[object, ...] = ()
        self._applied = Wakeup()

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
                self.file = (await self._load(self._settings.paths.last_good)).file
            except AgentsFileError:
                raise error from None
            log.error("config_broken_using_last_good", problem=str(error))
            self._report(error.problems)
            self.fallen_back = True
        else:
            self._report(loaded.problems)
            self.file = loaded.file
            if not loaded.errors:
                await self._keep(loaded.data)
        await self._read_prompts()

    async def read(self) -> bool:
        """Read the file and the prompts again; return whether the file is valid and in force."""
        await self._read_keys()
        good = await self._read_file()
        await self._read_prompts()
        return good

    async def _read_keys(self) -> None:
        """Let the file of keys apply as it is now."""
        try:
            keys = await self._off_loop(keys_file.read, self._settings.home, self._own)
        except TimeoutError as error:
            problem = Problem.unusable(self._settings.paths.keys, f"cannot be read: {error}")
            keys = Keys(self._keys.values, (problem,))
        for name in self._keys.values.keys() - self._own.keys():
            self._environ.pop(name, None)
        self._environ.update(keys.under(self._own))
        self._keys = keys

    async def _read_file(self) -> bool:
        try:
            loaded = await self._load(self.path)
        except AgentsFileError as error:
            self._report(error.problems)
            log.error("config_refused", problem=str(error))
            return False
        self._report(loaded.problems)
        if loaded.errors:
            log.error("config_refused", errors=len(loaded.errors))
            return False
        self.file = loaded.file
        self.fallen_back = False
        await self._keep(loaded.data)
        return True

    async def _load(self, path: Path) -> LoadedConfig:
        """Load a file; the version of agents.json is noted before.

        Raises:
            AgentsFileError: it cannot be used, or its file system does not answer.
        """
        try:
            if path == self.path:
                self._version = await self._off_loop(self._stamps)
            return await self._off_loop(
                agentsfile.load, path, self._environ, self._moved(), self._settings.home
            )
        except TimeoutError as error:
            raise AgentsFileError([Problem.unusable(path, f"cannot be read: {error}")]) from error

    async def apply(self, supervisor: Supervisor, servers: McpServers) -> None:
        """Apply the configuration to agents and MCP servers; unchanged ones keep their process."""
        paths = self._settings.paths
        hands = hand_servers(self.file, paths)
        if hands:
            await self._off_loop(prepare, self.file, paths)
        servers.define(self.file.mcp_servers, hands, self.file.sandbox)
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
                spec = build_launch_spec(
                    *(with_model, self._settings, endpoint, self._environ, self.prompts.templates),
                    sandbox=self.file.sandbox,
                )
                own = resolve_endpoint(definition, self._environ, local)
                supervisor.define(replace(spec, own=own), definition.idle_timeout_minutes)

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
            tasks.start_soon(follow, self._files, compare, on_change, *means)
            # The scan follows an edit as the watch begins anew.
            tasks.start_soon(follow, self._skill_folders, scan, checkpoint, *means)

    async def _notice_earlier_edit(self, on_change: Callable[[], Awaitable[object]]) -> None:
        """Report an edit between the last read of the files and the start of the watch."""
        with suppress(TimeoutError):
            if await self._off_loop(self._stamps) != self._version:
                await on_change()

    def _files(self) -> Watch:
        """Return agents.json, the keys and the prompts; a home without keys is not watched."""
        paths = self._settings.paths
        keys = (paths.keys,) if paths.keys.is_file() else ()
        return Watch.of((self.path, *keys), (paths.prompts,))

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
        try:
            files = [prompts / name for name in Folder(prompts).names()]
        except FileError as error:
            return identity(self.path), identity(keys), str(error)
        return tuple((path, identity(path)) for path in (self.path, keys, *files))

    async def _scan_skills(self, on_skill: Callable[[], None]) -> None:
        directories = bundled("skills"), self._settings.paths.skills
        try:
            _, problems = await self._off_loop(scan, directories)
        except TimeoutError as error:
            problems = (f"{directories[-1]}: {error}",)
        if problems != self.skill_problems:
            for problem in problems:
                log.warning("skill_problem", problem=problem)
        self.skill_problems = problems
        on_skill()

    def _needs_local(self) -> bool:
        keys = [provider.key_var for provider in PROVIDERS.values() if provider.key_var]
        automatic = any(definition.llm_provider == "auto" for definition in self.file.agents)
        return automatic and not any(self._environ.get(key) for key in keys)

    async def _read_prompts(self) -> None:
        before = self.prompts.problems
        try:
            self.prompts.adopt(await self._off_loop(self.prompts.examine, self.file))
            await self._off_loop(self.prompts.store_last_good)
        except TimeoutError as error:
            self.prompts.not_read(str(error))
        for problem in self.prompts.problems:
            if problem not in before:
                log.warning("prompt_problem", problem=str(problem))

    def _changed_token(self) -> tuple[Problem, ...]:
        """Return a warning if Telegram does not run with the token that is set now."""
        used, now = self._settings.telegram_bot_token, self._environ.get(TOKEN)
        if not now or (used is not None and used.get_secret_value() == now):
            return ()
        message = f"{TOKEN} is not the one that the daemon started with; restart the daemon"
        return (Problem("warning", str(self._settings.paths.keys), 0, None, "", message),)

    def _report(self, problems: tuple[Problem, ...]) -> None:
        problems = (*self._keys.problems, *self._changed_token(), *problems)[:MAX_PROBLEMS]
        for problem in problems:
            emit = log.error if problem.severity == "error" else log.warning
            emit("config_problem", problem=str(problem))
        self.problems = problems

    async def _keep(self, data: bytes) -> None:
        if self.path.parent == bundled("config"):
            return  # the bundled file cannot get lost, and each version has its own
        try:
            await self._off_loop(write_private, self._settings.paths.last_good, data)
        except OSError as error:
            log.warning("last_good_not_kept", problem=str(error))


def _folders_in(folder: Path) -> list[Path]:
    try:
        return [path for name in Folder(folder).names() if (path := folder / name).is_dir()]
    except (FileError, OSError):  # reported by the scan
        return []
