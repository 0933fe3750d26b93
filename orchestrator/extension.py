"""The interface between the core and its extensions; neither knows more of the other.

An extension is a subclass of `Extension`, named by an entry point of the group
``orchestrator.extensions`` in the metadata of any installed distribution. The class declares what
the extension adds: fields of agents.json with checks of them, commands, tools, doctor lines and
pages of the manual. None of that may be imported with the module itself: every command loads all
extensions, so each method imports what it needs. What an extension does in a running daemon is a
`Part`, built once at each start.

An extension of another distribution runs in the supervisor only if agents.json names it in
``extensions``. A chat system is safer as a *channel folder*, which never does: an entry point that
names a package (and no attribute of it) with a ``channel.json``, which runs in a jailed process of
its own. The extensions of this distribution are *bundled*: they always
run, and only they may use some hooks.

An extension may import this module and the core's packages, and no other extension.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, AsyncExitStack, nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from orchestrator.findings import Finding
from orchestrator.web.offered_pages import Route, Screen

if TYPE_CHECKING:
    from anyio import Event
    from anyio.abc import TaskGroup

    from orchestrator.agentsfile import AgentDefinition, AgentsFile, ConfigModel, Problem
    from orchestrator.agentsfile.draft import Draft
    from orchestrator.channel_api import Adapter
    from orchestrator.configuration import Configuration
    from orchestrator.control.control_server import ControlServer
    from orchestrator.control.editing import FileEdit
    from orchestrator.control.operations import DaemonOperations
    from orchestrator.control.protocol import StatusReport
    from orchestrator.document_text import DocumentReader
    from orchestrator.editable import EditableKind
    from orchestrator.findings import JailKind
    from orchestrator.home_paths import Paths
    from orchestrator.inbound.commands import ChatCommandEntry
    from orchestrator.inbound.intake import JournalIntake
    from orchestrator.journal.db.database import Database
    from orchestrator.journal.db.store import Store
    from orchestrator.journal.engine import Engine
    from orchestrator.journal.turns.approvals import Approval
    from orchestrator.journal.turns.receipts import JudgedAnswer
    from orchestrator.journal.turns.steps import Call
    from orchestrator.journal.turns.turns import Turn
    from orchestrator.journal_address import JournalAddress
    from orchestrator.machine import Machine
    from orchestrator.media_service import MediaService
    from orchestrator.outbound.delivery import Delivery
    from orchestrator.placement import Placement
    from orchestrator.processes.child_process import ChildProcess
    from orchestrator.prompts.prompt_set import PromptSet
    from orchestrator.prompts.skill_set import SkillSet
    from orchestrator.settings import Settings
    from orchestrator.spending.metered_calls import MeteredCalls
    from orchestrator.toolcalls.approvals import ApprovalQueue
    from orchestrator.toolcalls.argument_sources import ArgumentSource
    from orchestrator.tools.builtin.host_tool import DelegatingTool, HostTool
    from orchestrator.tools.remote_tools import RemoteTool, RemoteTools
    from orchestrator.tools.tool_server import ToolServer
    from orchestrator.turns.recipe import Recipe
    from orchestrator.turns.turn_services import TurnServices
    from thinker.formats.prompts.definition import PromptDefinition
    from thinker.formats.prompts.registry import Registry
    from thinker.protocol.messages import ToolResult
    from thinker.protocol.peer import Peer, RequestHandler
    from thinker.protocol.rendering import PromptRender, PromptRendered

__all__ = ["Command", "DaemonView", "Extension", "Finding", "Part", "Route", "Screen"]


class Command(NamedTuple):
    """A command: ``module`` has its typer application as ``app``; ``group`` is its heading.

    ``beside`` are modules of other bundled extensions with further subcommands.
    """

    group: str
    summary: str
    module: str
    beside: tuple[str, ...] = ()


@dataclass(kw_only=True)
class DaemonView:
    """A part's view of its daemon; attributes without a value are set before `Part.open`.

    ``environ`` has the keys of the home as well, and changes with them. ``get_agents_file`` returns
    the current agents.json. ``add_adapter`` adds a channel of a bundled part while the daemon runs.
    Whatever is entered into ``stack`` is closed after the daemon has
    stopped; ``tasks`` are cancelled then. ``stopping`` is set when the stop begins: end model calls
    for which no message waits, because the stop waits for workers. ``placement`` says which agents
    this node works for, ``epoch`` is that of this process (see `turns.boot`).
    """

    settings: "Settings"
    environ: dict[str, str]
    store: "Store"
    machine: "Machine"
    configuration: "Configuration"
    get_agents_file: "Callable[[], AgentsFile]" = field(init=False)
    adapters: "dict[str, Adapter]"
    add_adapter: "Callable[[Adapter], None]" = field(init=False)
    stack: AsyncExitStack
    tasks: "TaskGroup"
    stopping: "Event"
    placement: "Placement" = field(init=False)
    epoch: int = field(init=False)
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

    def get_own_agents_file(self) -> "AgentsFile":
        """Return agents.json, its list of agents without those of other nodes."""
        file, share = self.get_agents_file(), self.placement.share
        return file if share is None else file.select_agents(share)


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

    async def list_adapters(self) -> "Collection[Adapter]":
        """Return the channels of a bundled part; awaited once, before anything runs."""
        return ()

    async def open(self) -> None:
        """Prepare, once every attribute of ``daemon`` has a value; the start waits for it."""

    async def run(self) -> None:
        """Work until cancelled at the end of the stop; not started again after a fault."""

    async def close(self) -> None:
        """Stop accepting work, within 5 seconds; by now no turn runs, and replies have left."""

    def adopt_configuration(self, old: "AgentsFile", new: "AgentsFile") -> None:
        """Adopt a changed agents.json, already current; compare the fields that you use."""

    def look_again(self) -> None:
        """Look at the journal again: a call, a command or a turn of a task may have changed it."""

    def reread_skills(self) -> None:
        """Read the skills again before they are used: a SKILL.md has changed."""

    def list_faults(self) -> Iterable[str]:
        """Return why the part does not work; a daemon with a fault is not ready."""
        return ()

    def list_reply_listeners(self) -> Iterable[Callable[[str], None]]:
        """Return functions to call with the agent's id after each committed reply, at once."""
        return ()

    def list_routes(self) -> Iterable[Route]:
        """Return endpoints for the HTTP API's port, the same whenever that may open anew."""
        return ()

    def list_screens(self) -> Iterable[Screen]:
        """Return screens of the web page; asked once, when the page first needs them."""
        return ()

    def list_control_methods(self, peer: "Peer | None") -> "Mapping[str, RequestHandler]":
        """Return methods that commands may call by the control socket, with handlers by name.

        Asked at each connection of a command, its ``peer``, and with None for the page. They
        replace the core's of the same name, so begin each name with that of the extension.
        """
        del peer
        return {}

    def list_authored_methods(self, by: str) -> "Mapping[str, RequestHandler]":
        """Return such methods that record who calls: ``operator``, or ``web:`` and a login."""
        del by
        return {}

    def place_control_methods(
        self, methods: "Mapping[str, RequestHandler]", by: str
    ) -> "Mapping[str, RequestHandler]":
        """Return ``methods`` that ``by`` calls, answered on the right node; bundled parts only."""
        del by
        return methods

    def list_editable_kinds(self) -> "Iterable[EditableKind]":
        """Return kinds of texts for the editors; only bundled extensions are asked."""
        return ()

    async def judge_edit(self, edit: "FileEdit", by: str) -> Iterable[str]:
        """Return objections to a valid edit, which its author may save anyway; within 20 seconds.

        ``edit`` has the whole text, without secrets. Only bundled extensions are asked.
        """
        del edit, by
        return ()

    def list_hints(self) -> Iterable[str]:
        """Return what the operator should know or do, now; asked at each `orchestrator status`."""
        return ()

    def list_children(self) -> "Mapping[str, ChildProcess | None]":
        """Return the part's child processes by name; asked at each `orchestrator status`."""
        return {}

    def build_media_service(self) -> "MediaService | None":
        """Return a new service for speech and pictures; only bundled extensions may bring one."""
        return None

    def build_remote_tools(self) -> "RemoteTools | None":
        """Return a new keeper of MCP servers; only bundled extensions may bring one."""
        return None

    def build_placement(self) -> "Placement | None":
        """Return what places agents on the nodes of a journal; only bundled extensions may."""
        return None


class Extension:
    """What an extension adds. Every method is optional.

    A class with a further public method is left out, since that may be a misspelled hook; begin the
    names of such methods with an underscore. One object of the class serves all callers.

    Most hooks are called only if agents.json names the extension, in any thread of the daemon or
    of a command, and must answer at once. If a hook of a bundled extension raises, so does what
    called it; a fault of another one is logged and costs that hook alone.
    """

    name: str
    """The name of the extension: of its entry point, its extra and its settings in agents.json."""
    file_fields: tuple[str, ...] = ()
    """Fields of agents.json that need the extension; only for bundled extensions."""
    file_agent_fields: tuple[str, ...] = ()
    """The same for fields that the core knows of each agent."""

    def get_settings_model(self) -> "type[ConfigModel] | None":
        """Return the model of ``extensions.<name>`` in agents.json; all its fields have defaults.

        After a fault, ``extensions.<name>`` is an error of agents.json.
        """
        return None

    def get_channels_model(self) -> "type[ConfigModel] | None":
        """Return a model whose fields, with defaults, become entries of ``channels``.

        Only bundled extensions are asked: a channel of another distribution is a folder.
        """
        return None

    def get_agent_model(self) -> "type[ConfigModel] | None":
        """Return a model whose fields, with defaults, every agent in agents.json gets."""
        return None

    def check_agents_file(
        self, draft: "Draft", environ: Mapping[str, str] | None, home: Path | None
    ) -> None:
        """Add problems of agents.json to ``draft``; all extensions have 10 seconds together.

        ``environ`` has the keys, ``home`` is the daemon's folder; None skips checks of either. A
        fault becomes a warning.
        """

    def check_files(
        self, settings: "Settings", file: "AgentsFile", found: "PromptSet | SkillSet"
    ) -> "Iterable[Problem]":
        """Return problems of prompts or skills, and of agents.json together with them.

        Called after each reading of either, with what was ``found``. A fault becomes a warning.
        """
        del settings, file, found
        return ()

    def list_commands(self) -> Mapping[str, Command]:
        """Return commands, keyed by name, even if agents.json does not name the extension."""
        return {}

    def list_chat_commands(self) -> "Mapping[str, ChatCommandEntry]":
        """Return commands of chats, keyed by name; only bundled extensions are asked."""
        return {}

    def list_tools(self) -> "Sequence[HostTool]":
        """Return tools for every agent, made by `orchestrator.tools.extension_tool.define_tool`.

        They run in threads of the supervisor. A taken name is refused, and a fault leaves out all
        of these tools; both are problems of agents.json.
        """
        return ()

    def list_tool_servers(self, file: "AgentsFile", paths: "Paths") -> "Mapping[str, ToolServer]":
        """Return MCP servers for single agents, keyed by names that contain ``@``.

        It must change nothing: `orchestrator prompt` asks as well.
        """
        del file, paths
        return {}

    def list_served_tools(self, file: "AgentsFile | None") -> Iterable[str]:
        """Return the names of those servers' tools for agents of ``file``; None for any agent."""
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
        ``now`` is in milliseconds. Only bundled extensions are asked.
        """
        del db, file, paths, agent_id, reserved, now
        return {}

    def judge_call(self, db: "Database", call: "Call") -> "ToolResult | str | None":
        """Return the result to use instead of running a call, or why it needs an approval.

        Only bundled extensions are asked, inside T4, about calls that policy allows.
        """
        del db, call
        return None

    def judge_answer(
        self, db: "Database", turn: "Turn", definition: "AgentDefinition", text: str
    ) -> "JudgedAnswer | None":
        """Return what an answer claims to have done and what is to be said below it, or None.

        Only bundled extensions are asked, inside T6, about what the model of a turn answers.
        """
        del db, turn, definition, text
        return None

    def allow_call(
        self, db: "Database", call: "Call", sources: "Mapping[str, ArgumentSource]", now: int
    ) -> bool:
        """Return whether an operator has allowed all calls like one that needs an approval.

        Only bundled extensions are asked, inside T4, and not about calls for which no such
        decision counts. ``sources`` tell where arguments are from.
        """
        del db, call, sources, now
        return False

    def list_answers(self, db: "Database", asked: "Sequence[Approval]") -> "Mapping[str, str]":
        """Return further answers to a question about calls: chat commands by what they do.

        They become buttons beside those of the decision. Only bundled extensions are asked.
        """
        del db, asked
        return {}

    def list_jail_kinds(self) -> "Iterable[JailKind]":
        """Return jails for `orchestrator doctor` to try from inside; of bundled extensions only."""
        return ()

    def list_findings(
        self, settings: "Settings", file: "AgentsFile | None", status: "StatusReport | None"
    ) -> Iterable[Finding]:
        """Return lines for `orchestrator doctor`; called in the process of that command.

        ``file`` is None if agents.json cannot be used, and then only bundled extensions are asked;
        ``status`` is None while no daemon runs. A fault becomes a line.
        """
        del settings, file, status
        return ()

    def list_manual_pages(self) -> Sequence[Path]:
        """Return pages of the manual, as Markdown files; a page that is there already wins."""
        return ()

    def list_layouts(self) -> "Mapping[str, Callable[[PromptRender], PromptRendered]]":
        """Return functions that render prompt definitions, keyed by the name of a layout."""
        return {}

    def build_document_reader(self) -> "DocumentReader | None":
        """Return a new reader of PDF and office files; only bundled extensions may bring one."""
        return None

    def build_engine(self, address: "JournalAddress") -> "Engine | None":
        """Return an engine for a journal that is no file; only bundled extensions are asked."""
        del address
        return None

    def list_recipes(self) -> "Mapping[str, type[Recipe]]":
        """Return recipes for turns, keyed by the kind of message, of bundled extensions only."""
        return {}

    def build_prompt_tools(
        self,
        definition: "PromptDefinition",
        known: "Mapping[str, PromptDefinition]",
        names: "Registry",
        agents: "AgentsFile",
        environment: Mapping[str, str],
    ) -> "Iterable[tuple[str, DelegatingTool]]":
        """Return the prompts and agents among a definition's tools, with their names.

        ``known`` are all definitions, and ``environment`` enables optional entries. Only bundled
        extensions are asked.
        """
        del definition, known, names, agents, environment
        return ()

    def keep_log(self, path: Path, environ: Mapping[str, str]) -> AbstractContextManager[None]:
        """Return a context around the life of a daemon that keeps its log lines at ``path``.

        Only bundled extensions are asked; a daemon writes the lines to its standard error.
        """
        del path, environ
        return nullcontext()

    def prepare_home(self, settings: "Settings") -> None:
        """Prepare the home before the daemon reads it; only bundled extensions are called."""

    def build_part(self, daemon: DaemonView) -> "Part | None":
        """Return a new part for a daemon at its start, or None if there is none."""
        del daemon
        return None
