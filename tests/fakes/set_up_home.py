"""What a part that sets up a daemon sees of it: real files of a home, read by the real reader."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from anyio import to_thread

from orchestrator.agentsfile import AgentsFile
from orchestrator.channel_api import Adapter
from orchestrator.configuration import Configuration
from orchestrator.control.control_server import ControlServer
from orchestrator.control.protocol import ReloadReport
from orchestrator.extension import DaemonView
from orchestrator.files import run_off_loop
from orchestrator.processes.launch import Endpoint
from orchestrator.settings import Settings
from thinker.protocol.peer import RequestHandler


@dataclass
class SetUpHome:
    """A daemon without processes; ``own`` is its environment, ``methods`` those of editors.

    ``now`` are its milliseconds. With a ``store`` it has the real requests about chats.
    """

    home: Path
    own: Mapping[str, str] = field(default_factory=dict)
    servers: tuple[Endpoint, ...] = ()
    methods: dict[str, RequestHandler] = field(default_factory=dict)
    adapters: dict[str, Adapter] = field(default_factory=dict)
    store: Any = None
    now: int = 0

    def __post_init__(self) -> None:
        self.settings = Settings.read_environ({"ORCHESTRATOR_HOME": str(self.home), **self.own})
        self.environ = dict(self.own)
        self.configuration = Configuration(self.settings, self.environ, self._list_servers)
        self.machine = SimpleNamespace(
            in_thread=to_thread.run_sync,
            off_loop=run_off_loop,
            model_servers=self._list_servers,
            monotonic=lambda: self.now / 1000,
            clock=lambda: self.now,
        )
        self.operations = SimpleNamespace(reload_configuration=self._reload)
        self.control: Any = SimpleNamespace(build_methods_for=lambda _: self.methods)
        if self.store is not None:
            self.control = self._build_control()

    def _build_control(self) -> ControlServer:
        unused: Any = None
        operations: Any = SimpleNamespace(
            store=self.store, clock=lambda: self.now, configuration=self.configuration
        )
        return ControlServer(operations, unused, unused, unused, wake=lambda: None)

    async def _list_servers(self) -> tuple[Endpoint, ...]:
        return self.servers

    async def _reload(self) -> ReloadReport:
        applied = await self.configuration.reread_files()
        return ReloadReport(applied=applied, problems=self.configuration.problems)

    def get_agents_file(self) -> AgentsFile:
        """The current file."""
        return self.configuration.file

    async def start(self) -> DaemonView:
        """Read the files, and return what a part gets."""
        await self.configuration.read_at_start()
        return cast("DaemonView", self)

    @property
    def text(self) -> str:
        """The text of the home's agents.json."""
        return (self.home / "agents.json").read_text("utf-8")

    @property
    def keys(self) -> str:
        """The text of keys.env."""
        return (self.home / "keys.env").read_text("utf-8")

    @property
    def is_untouched(self) -> bool:
        """Whether nothing was written that people write."""
        return not any((self.home / name).exists() for name in ("agents.json", "keys.env"))
