"""The interface between the core and its extensions; neither knows more of the other.

An extension is a subclass of `Extension`, named by an entry point of the group
``orchestrator.extensions`` in the metadata of any installed distribution. The class declares what
the extension adds: fields of agents.json with checks of them, commands, tools, doctor lines and
pages of the manual. None of that may be imported with the module itself: every command loads all
extensions, so each method imports what it needs. What an extension does in a running daemon is a
`Part`, built once at each start.

An extension of another distribution runs in the supervisor only if agents.json names it in
``extensions``. A chat system is safer as a *channel folder*, which never does: an entry point that
names a package (and no attribute of it) with a ``channel.json``; `orchestrator.channelhost` runs
it in a jailed process of its own. The extensions of this distribution are *bundled*: they always
run, and only they may use some hooks.

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

    ``handle`` runs on the daemon's event loop. The token of the API is asked for, unless
    ``own_check`` says that ``handle`` checks requests itself, such as by a signature. Such a path
    is open to strangers, so it takes at most ``slots`` requests at a time, and ``opens_port`` says
    whether it is a reason to listen while there is no token. ``document`` makes the JSON of a
    refusal, where clients expect another one than OpenAI's. Scripts of other sites may read
    ``exposed_headers`` of the responses.
    """

    path: str
    handle: "Callable[[Request], Awaitable[Response]]"
    methods: tuple[str, ...] = ("GET",)
    own_check: bool = False
    opens_port: bool = False
    slots: int = 20
    document: "Callable[[ApiProblem], JsonObject] | None" = None
    exposed_headers: tuple[str, ...] = ()
    extension: str = ""  # filled in for those of other distributions

    @property
    def prefix(self) -> str:
        """The common beginning of the route's paths."""
        return self.path.partition("{")[0]

    def matches_path(self, path: str) -> bool:
        """Return whether the route serves a path."""
        return path.startswith(self.prefix) if "{" in self.path else path == self.path


@dataclass(frozen=True)
class Screen:
    """A screen of the web page, at ``/x/<path>`` and in the page's navigation.

    ``render`` gets the parameters of the address and returns Markdown; HTML in it is shown as text.
    It runs on the daemon's event loop at each look of a person whose role may read texts, and has 5
    seconds. What it raises is logged, and shown on the screen and by `orchestrator status`.

    Raises:
        ValueError: ``path`` is not one word of lower-case letters, digits and hyphens.
    """

    path: str
    title: str
    render: "Callable[[Mapping[str, str]], Awaitable[str]]"
    extension: str = ""  # filled in for those of other distributions

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[a-z0-9][a-z0-9-]{0,63}", self.path):
            raise ValueError(f"a screen's path is one word such as 'moon', not {self.path!r}")


@dataclass(kw_only=True)
class DaemonView:
    """A part's view of its daemon; attributes without a value are set before `Part.open`.

    ``environ`` has the keys of the home as well, and changes with them. ``get_agents_file`` returns
    the agents.json in force. Whatever is entered into ``stack`` is closed after the daemon has
    stopped; ``tasks`` are cancelled then. ``stopping`` is set when the stop begins: end model calls
    for which no message waits, because the stop waits for workers.
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
    """What an extension does in one daemon. Every method is optional.

    All methods run on the daemon's event loop, so one without ``async`` must return at once: it
    opens no file, asks no server and never sleeps. Use ``daemon.machine.in_thread`` for such work,
    and the journal only by ``daemon.store``.

    If a method of a bundled part raises, so does what called it: the daemon may stop. What another
    part raises is logged, shown by `orchestrator status` until that method succeeds, and counts as
    the default answer. After a fault in `open` the other methods of that part are not called.
    """

    def __init__(self, daemon: DaemonView) -> None:
        self.daemon = daemon

    async def list_adapters(self) -> "Sequence[Adapter]":
        """Return the channels of a bundled part; those of others are left out, with a hint.

        Awaited once during the start, before anything runs and before `open`.
        """
        return ()

    async def open(self) -> None:
        """Prepare, once every attribute of ``daemon`` has a value.

        Awaited once during the start, after the part before it, without a limit of time.
        """

    async def run(self) -> None:
        """Work until cancelled, at the end of the daemon's stop.

        Runs in a task of its own after `open` of all parts. It may return earlier, and is not
        started again after a fault.
        """

    async def close(self) -> None:
        """Stop accepting work; by now no turn runs, and replies that were ready have gone out.

        Awaited once, with `close` of all other parts; after 5 seconds these are cancelled.
        """

    def adopt_configuration(self, old: "AgentsFile", new: "AgentsFile") -> None:
        """Adopt a changed agents.json, which is in force now; compare the fields that you use.

        Called after each change, whatever it is.
        """

    def list_reply_listeners(self) -> Iterable[Callable[[str], None]]:
        """Return functions to call with the agent's id after each committed reply.

        Asked once, after `open`. The functions run on the event loop as well, and must not wait.
        """
        return ()

    def list_routes(self) -> Iterable[Route]:
        """Return endpoints for the HTTP API's port, the same whenever that may open anew."""
        return ()

    def list_screens(self) -> Iterable[Screen]:
        """Return screens of the web page; asked once, when the page first needs them."""
        return ()

    def list_control_methods(self, peer: "Peer | None") -> "Mapping[str, RequestHandler]":
        """Return methods that commands may call by the control socket, with handlers by name.

        Asked at each connection of a command, its ``peer``, and with None for the page. Handlers
        run on the event loop; what one raises is the answer to that call. They replace the core's
        of the same name, so begin each name with that of the extension.
        """
        del peer
        return {}

    def list_hints(self) -> Iterable[str]:
        """Return what the operator should know or do, now; asked at each `orchestrator status`."""
        return ()

    def list_children(self) -> "Mapping[str, ChildProcess | None]":
        """Return the part's child processes by name; asked at each `orchestrator status`."""
        return {}

    def build_media_service(self) -> "MediaService | None":
        """Return a new service for speech and pictures; only bundled extensions may bring one.

        Asked once during the start, after `list_adapters`; ``daemon.calls`` has a value.
        """
        return None

    def build_remote_tools(self) -> "RemoteTools | None":
        """Return a new keeper of MCP servers; only bundled extensions may bring one.

        Asked once during the start, after `build_media_service`; ``daemon.delivery`` has a value.
        """
        return None


class Extension:
    """What an extension adds. Every method is optional.

    A class with a further public method is left out, since that may be a misspelled hook; begin the
    names of such methods with an underscore. One object of the class serves all callers.

    Unless a hook's text says otherwise, it is called in any thread of the daemon or of a command,
    and must answer at once. If a hook of a bundled extension raises, so does what called it. What
    the texts say of faults, and of agents.json naming the extension, is for all others.
    """

    name: str
    """The name of the extension: of its entry point, its extra and its settings in agents.json."""
    file_fields: tuple[str, ...] = ()
    """Fields of agents.json without effect if it is missing; for bundled extensions alone."""
    file_agent_fields: tuple[str, ...] = ()
    """The same for fields that the core knows of each agent."""

    def get_settings_model(self) -> "type[ConfigModel] | None":
        """Return the model of ``extensions.<name>`` in agents.json; all its fields have defaults.

        Asked once in a process, whether agents.json names the extension or not. After a fault,
        ``extensions.<name>`` is an error of agents.json.
        """
        return None

    def get_channels_model(self) -> "type[ConfigModel] | None":
        """Return a model whose fields, with defaults, become entries of ``channels``.

        Only bundled extensions are asked: a channel of another distribution is a folder.
        """
        return None

    def get_agent_model(self) -> "type[ConfigModel] | None":
        """Return a model whose fields, with defaults, every agent in agents.json gets.

        Asked together with `get_settings_model`, with the same result of a fault.
        """
        return None

    def check_agents_file(
        self, draft: "Draft", environ: Mapping[str, str] | None, home: Path | None
    ) -> None:
        """Add problems of agents.json to ``draft``.

        Called at each reading of an agents.json that names the extension; in a daemon in a thread,
        where the whole reading has 10 seconds. ``environ`` has the keys, ``home`` is the daemon's
        folder; None skips checks of either. A fault becomes a warning.
        """

    def check_files(
        self, settings: "Settings", file: "AgentsFile", found: "PromptSet | SkillSet"
    ) -> "Iterable[Problem]":
        """Return problems of files of the home, and of agents.json together with them.

        Called after each reading of the prompts or the skills, with what was ``found``, if
        agents.json names the extension; in a daemon in a thread, where the whole reading has 10
        seconds. A fault becomes a warning.
        """
        del settings, file, found
        return ()

    def list_commands(self) -> Mapping[str, Command]:
        """Return commands by name.

        Asked by each command that is not the core's, and by the help, also if agents.json does not
        name the extension. Names of bundled commands are taken. A fault is printed.
        """
        return {}

    def list_tools(self) -> "Sequence[HostTool]":
        """Return tools for every agent, made by `orchestrator.tools.extension_tool.define_tool`.

        Asked if agents.json names the extension, and again after a change of extensions or MCP
        servers. A taken name is refused, and a fault leaves out all of these tools; both are
        problems of agents.json. The tools run in threads of the supervisor.
        """
        return ()

    def list_tool_servers(self, file: "AgentsFile", paths: "Paths") -> "Mapping[str, ToolServer]":
        """Return MCP servers for single agents, by names that contain ``@``.

        Asked after each reading of an agents.json that names the extension; in a daemon in a
        thread, with 10 seconds. It must change nothing: `orchestrator prompt` asks as well. A fault
        is logged, and the extension brings no servers then.
        """
        del file, paths
        return {}

    def list_served_tools(self, file: "AgentsFile | None") -> Iterable[str]:
        """Return the names of the tools that those servers have for agents of ``file``.

        None asks for the tools of any agent. Asked whenever prompts are read or checked, if
        agents.json names the extension. A fault is logged.
        """
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

        ``db`` is a copy that may be changed, ``reserved`` are names that no such tool can have,
        ``now`` is in milliseconds. Asked by `orchestrator prompt`, of bundled extensions alone.
        """
        del db, file, paths, agent_id, reserved, now
        return {}

    def list_jail_kinds(self) -> "Iterable[JailKind]":
        """Return the jails of the extension's processes, to be tried from inside.

        Asked by `orchestrator doctor`, of bundled extensions alone.
        """
        return ()

    def list_findings(
        self, settings: "Settings", file: "AgentsFile | None", status: "StatusReport | None"
    ) -> Iterable[Finding]:
        """Return lines for `orchestrator doctor`, which waits for them without a limit.

        Asked in the process of that command, if agents.json names the extension. ``file`` is None
        if agents.json cannot be used, and then only bundled extensions are asked; ``status`` is
        None while no daemon runs. A fault becomes a line.
        """
        del settings, file, status
        return ()

    def list_manual_pages(self) -> Sequence[Path]:
        """Return pages of the manual, as Markdown files; a page that is there already wins.

        Asked by `orchestrator help`, also if agents.json does not name it. A fault is printed.
        """
        return ()

    def list_layouts(self) -> "Mapping[str, Callable[[PromptRender], PromptRendered]]":
        """Return functions that render prompt definitions, by names of layouts.

        Asked by `orchestrator prompt show` and ``diff``, also if agents.json does not name the
        extension. A fault ends that command.
        """
        return {}

    def build_document_reader(self) -> "DocumentReader | None":
        """Return a new reader of PDF and office files; only bundled extensions may bring one.

        Asked once at each start of a daemon, before the event loop runs.
        """
        return None

    def build_engine(self, address: "JournalAddress") -> "Engine | None":
        """Return a new engine for a journal at an address that is not a file; connect to nothing.

        Asked whenever such a journal is opened, of bundled extensions alone.
        """
        del address
        return None

    def list_recipes(self) -> "Mapping[str, type[Recipe]]":
        """Return how turns of the extension's messages differ from others, by the kind of message.

        Asked by the daemon at the first turn of each kind, of bundled extensions alone.
        """
        return {}

    def prepare_home(self, settings: "Settings") -> None:
        """Prepare the home, before a daemon that holds its lock and journal reads it.

        Called once at each start, of bundled extensions alone, before the event loop runs: it may
        wait, and a fault ends the start.
        """

    def build_part(self, daemon: DaemonView) -> "Part | None":
        """Return a new part for a daemon; None if there is none.

        Asked once at each start, on the event loop, if agents.json names the extension; a name that
        is added later waits for the next start. After a fault, which is logged and shown by
        `orchestrator status`, there is no part.
        """
        del daemon
        return None
