"""The interface between the core and its extensions; neither knows more of the other.

An extension is a subclass of `Extension`, named by an entry point of the group
``orchestrator.extensions`` in the metadata of any installed distribution. It declares what it
adds: fields of agents.json with their checks, commands, tools, doctor lines and pages of the
manual. None of that may be imported with the module itself: every command loads all extensions, so
each method imports what it needs. What an extension does in a running daemon is a `Part`, made once
at each start.

An extension of another distribution runs in the supervisor only if agents.json names it in
``extensions``. A chat system is safer as a *channel folder*, which never does: an entry point that
names a package (and no attribute of it) with a ``channel.json``; `orchestrator.channelhost` runs
it in a jailed process of its own.

An extension may import this module and the core's packages, and no other extension.
"""

import re
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from orchestrator.findings import Finding

if TYPE_CHECKING:
    from anyio import Event
    from anyio.abc import TaskGroup
    from starlette.requests import Request
    from starlette.responses import Response

    from orchestrator.agentsfile import AgentsFile, ConfigModel, Problem
    from orchestrator.agentsfile.draft import Draft
    from orchestrator.channel_api import Adapter
    from orchestrator.configuration import Configuration
    from orchestrator.control.control_server import ControlServer
    from orchestrator.control.operations import DaemonOperations
    from orchestrator.control.protocol import StatusReport
    from orchestrator.document_text import DocumentReader
    from orchestrator.findings import JailKind
    from orchestrator.home_paths import Paths
    from orchestrator.inbound.intake import JournalIntake
    from orchestrator.inbound.skill_tasks import SkillSet
    from orchestrator.journal.db.database import Database
    from orchestrator.journal.db.store import Store
    from orchestrator.journal.engine import Engine
    from orchestrator.journal_address import JournalAddress
    from orchestrator.machine import Machine
    from orchestrator.media_service import MediaService
    from orchestrator.outbound.delivery import Delivery
    from orchestrator.processes.child_process import ChildProcess
    from orchestrator.prompts.prompt_set import PromptSet
    from orchestrator.settings import Settings
    from orchestrator.spending.metered_calls import MeteredCalls
    from orchestrator.toolcalls.approvals import ApprovalQueue
    from orchestrator.tools.builtin.host_tool import HostTool
    from orchestrator.tools.remote_tools import RemoteTool, RemoteTools
    from orchestrator.tools.tool_server import ToolServer
    from orchestrator.turns.recipe import Recipe
    from orchestrator.turns.turn_services import TurnServices
    from orchestrator.web.error_response import ApiProblem
    from thinker.protocol.messages import JsonObject
    from thinker.protocol.peer import Peer, RequestHandler
    from thinker.protocol.rendering import PromptRender, PromptRendered

__all__ = ["Command", "DaemonView", "Extension", "Finding", "Part", "Route", "Screen"]


class Command(NamedTuple):
    """A command: ``module`` has its typer application as ``app``; ``group`` is its heading."""

    group: str
    summary: str
    module: str


@dataclass(frozen=True)
class Route:
    """An HTTP endpoint, on the port of the HTTP API.

    The token of the API is asked for, unless the endpoint has a ``check`` of its own, such as a
    signature. Such a path is open to strangers, so it has at most ``slots`` requests at a time, and
    ``opens_port`` says whether it is a reason to listen while there is no token. ``document`` makes
    the JSON of a refusal, where clients expect another one than OpenAI's. Scripts of other sites
    may read ``exposed_headers`` of its responses.
    """

    path: str
    handle: "Callable[[Request], Awaitable[Response]]"
    methods: tuple[str, ...] = ("GET",)
    own_check: bool = False
    opens_port: bool = False
    slots: int = 20
    document: "Callable[[ApiProblem], JsonObject] | None" = None
    exposed_headers: tuple[str, ...] = ()

    @property
    def prefix(self) -> str:
        """The common beginning of its paths."""
        return self.path.partition("{")[0]

    def matches_path(self, path: str) -> bool:
        """Return whether the route serves a path."""
        return path.startswith(self.prefix) if "{" in self.path else path == self.path


@dataclass(frozen=True)
class Screen:
    """A screen of the web page, at ``/x/<path>`` and in the page's navigation.

    ``render`` gets the parameters of the address and returns Markdown; HTML in it is shown as text.
    It runs in the supervisor at each look, for people whose role may read texts, and has 5 seconds.

    Raises:
        ValueError: ``path`` is not one word of lower-case letters, digits and hyphens.
    """

    path: str
    title: str
    render: "Callable[[Mapping[str, str]], Awaitable[str]]"

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[a-z0-9][a-z0-9-]{0,63}", self.path):
            raise ValueError(f"a screen's path is one word such as 'moon', not {self.path!r}")


@dataclass(kw_only=True)
class DaemonView:
    """A part's view of its daemon; attributes without a value are set before `Part.open`.

    ``environ`` has the keys of the home as well, and changes with them. ``get_agents_file`` returns
    the agents.json in force. Whatever is entered into
    ``stack`` is closed after the daemon has stopped; ``tasks`` are cancelled then. ``stopping`` is
    set when the stop begins: end model calls for which no message waits, as workers are waited for.
    """

    settings: "Settings"
    environ: dict[str, str]
    store: "Store"
    machine: "Machine"
    configuration: "Configuration"
    get_agents_file: "Callable[[], AgentsFile]" = field(init=False)
    adapters: "dict[str, Adapter]"
    stack: AsyncExitStack
    tasks: "TaskGroup"
    stopping: "Event"
    operations: "DaemonOperations" = field(init=False)
    intake: "JournalIntake" = field(init=False)
    delivery: "Delivery" = field(init=False)
    approvals: "ApprovalQueue" = field(init=False)
    calls: "MeteredCalls" = field(init=False)
    turns: "TurnServices" = field(init=False)
    control: "ControlServer" = field(init=False)
    parts: "Sequence[Part]" = ()

    def __post_init__(self) -> None:
        self.get_agents_file = partial(getattr, self.configuration, "file")


class Part:
    """What an extension does in one daemon. Every method is optional."""

    def __init__(self, daemon: DaemonView) -> None:
        self.daemon = daemon

    async def list_adapters(self) -> "Sequence[Adapter]":
        """Return its channels; called in the second half of the start, before anything runs."""
        return ()

    async def open(self) -> None:
        """Prepare, once every attribute of ``daemon`` is set; nothing runs yet."""

    async def run(self) -> None:
        """Work until cancelled."""

    async def close(self) -> None:
        """Stop accepting work; the daemon limits how long it waits."""

    def adopt_configuration(self, old: "AgentsFile", new: "AgentsFile") -> None:
        """Adopt a changed agents.json, which is in force now; compare the fields that you use."""

    def list_reply_listeners(self) -> Iterable[Callable[[str], None]]:
        """Return what is called with the agent's id after each committed reply; it must not wait.

        Asked once, after `open`.
        """
        return ()

    def list_routes(self) -> Iterable[Route]:
        """Return its endpoints."""
        return ()

    def list_screens(self) -> Iterable[Screen]:
        """Return its screens of the web page."""
        return ()

    def list_control_methods(self, peer: "Peer | None") -> "Mapping[str, RequestHandler]":
        """Return its methods for the command line; ``peer`` is the client, None for the page."""
        del peer
        return {}

    def list_hints(self) -> Iterable[str]:
        """Return hints for the operator, shown by `orchestrator status`."""
        return ()

    def list_children(self) -> "Mapping[str, ChildProcess | None]":
        """Return its child processes by their names in `orchestrator status`."""
        return {}

    def build_media_service(self) -> "MediaService | None":
        """Return the service for speech and pictures; ``daemon.calls`` is set by then."""
        return None

    def build_remote_tools(self) -> "RemoteTools | None":
        """Return what keeps MCP servers; ``daemon.delivery`` is there by then."""
        return None


class Extension:
    """What an extension adds. Every method is optional."""

    name: str
    """Its name, also of its entry point, its extra and its settings in agents.json."""
    file_fields: tuple[str, ...] = ()
    """Fields of agents.json itself that have no effect without it; of our own extensions alone."""
    file_agent_fields: tuple[str, ...] = ()
    """The same for fields that the core knows of each agent."""

    def get_settings_model(self) -> "type[ConfigModel] | None":
        """Return the model of ``extensions.<name>`` in agents.json."""
        return None

    def get_channels_model(self) -> "type[ConfigModel] | None":
        """Return a model whose fields, with defaults, become entries of ``channels``.

        Our own extensions alone are asked: a channel of another distribution is a folder.
        """
        return None

    def get_agent_model(self) -> "type[ConfigModel] | None":
        """Return a model whose fields, with defaults, every agent in agents.json gets."""
        return None

    def check_agents_file(
        self, draft: "Draft", environ: Mapping[str, str] | None, home: Path | None
    ) -> None:
        """Add problems of agents.json to ``draft``; None skips checks of keys or the home."""

    def check_files(
        self, settings: "Settings", file: "AgentsFile", found: "PromptSet | SkillSet"
    ) -> "Iterable[Problem]":
        """Return problems of files of the home.

        Called in a thread after each reading of the prompts or the skills, with what was ``found``.
        """
        del settings, file, found
        return ()

    def list_commands(self) -> Mapping[str, Command]:
        """Return its commands by name."""
        return {}

    def list_tools(self) -> "Sequence[HostTool]":
        """Return tools for every agent, made by `orchestrator.tools.extension_tool.define_tool`.

        They run in threads of the supervisor. A taken name is refused.
        """
        return ()

    def list_tool_servers(self, file: "AgentsFile", paths: "Paths") -> "Mapping[str, ToolServer]":
        """Return MCP servers that it provides to single agents, with names that contain ``@``.

        It must change nothing: `orchestrator prompt` calls it as well.
        """
        del file, paths
        return {}

    def list_served_tools(self, file: "AgentsFile | None") -> Iterable[str]:
        """Return the names of these servers' tools for an agent; None for any agent."""
        del file
        return ()

    def find_remembered_tools(
        self,
        db: "Database",
        file: "AgentsFile",
        paths: "Paths",
        agent_id: str,
        reserved: Collection[str],
        now: int,
    ) -> "Mapping[str, RemoteTool]":
        """Return the remote tools that an agent would have, known without a daemon.

        ``db`` is a copy that may be changed, ``reserved`` are names that no such tool can have.
        """
        del db, file, paths, agent_id, reserved, now
        return {}

    def list_jail_kinds(self) -> "Iterable[JailKind]":
        """Return the jails of its processes, which `orchestrator doctor` tries from inside."""
        return ()

    def list_findings(
        self, settings: "Settings", file: "AgentsFile | None", status: "StatusReport | None"
    ) -> Iterable[Finding]:
        """Return lines for `orchestrator doctor`; ``status`` is None while no daemon runs."""
        del settings, file, status
        return ()

    def list_manual_pages(self) -> Sequence[Path]:
        """Return pages of the manual, as Markdown files."""
        return ()

    def list_layouts(self) -> "Mapping[str, Callable[[PromptRender], PromptRendered]]":
        """Return further layouts of prompt definitions, for `orchestrator prompt show --layout`."""
        return {}

    def build_document_reader(self) -> "DocumentReader | None":
        """Return the reader of PDF and office files; only our own extensions are asked."""
        return None

    def build_engine(self, address: "JournalAddress") -> "Engine | None":
        """Return the engine for a journal at an address that is not a file."""
        del address
        return None

    def list_recipes(self) -> "Mapping[str, type[Recipe]]":
        """Return how turns of its messages differ from others, by the kind of message.

        Our own extensions alone are asked.
        """
        return {}

    def prepare_home(self, settings: "Settings") -> None:
        """Prepare the home, before a daemon that holds its lock and journal reads it."""

    def build_part(self, daemon: DaemonView) -> "Part | None":
        """Make its part of a daemon; None if it has none."""
        del daemon
        return None
