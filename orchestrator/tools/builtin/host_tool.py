"""The kinds of tools that the supervisor itself runs.

The effect of a `JournalTool` is a change of the journal, committed together with the call's result,
so that it happens exactly once. A `PlainTool` only reads. A `DelegatingTool` starts work that
belongs to its call: repeating the call finds that work. An `ExtensionTool` is a function that knows
nothing of the daemon; `orchestrator.tools.extension_tool` makes it.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self, TypeAlias

from pydantic import JsonValue

from orchestrator.agentsfile import AgentDefinition
from orchestrator.channel_api import ReplyPart
from orchestrator.document_text import ReadDocument
from orchestrator.files import OffLoop, run_off_loop
from orchestrator.journal.db.database import Database
from orchestrator.journal.db.store import Store
from orchestrator.journal.memory.fact_vectors import Embedding
from orchestrator.journal.memory.memory_scope import MemoryScope
from orchestrator.journal.turns import subagents
from orchestrator.journal.turns.outbox import Address
from orchestrator.journal.turns.steps import Call
from orchestrator.journal.turns.subagents import SubagentRun
from thinker.formats.word_lists import parse_words
from thinker.protocol.environments import Environments
from thinker.protocol.media_requests import DrawingRequest, DrawingResult
from thinker.protocol.messages import (
    UNTRUSTED,
    FileContent,
    JsonObject,
    Origin,
    SideEffect,
    ToolResult,
    ToolSpec,
    find_least_trusted,
)

TOOL_TIMEOUT = 60.0  # seconds that a tool may take, if it names no other time


class ToolFailure(Exception):  # noqa: N818 - an outcome for the model, not a fault here
    """The tool failed; the message tells the model why and what would work."""


@dataclass(frozen=True)
class ToolContext:
    """The turn that a call belongs to; ``now`` in milliseconds.

    ``split`` cuts text into parts that a channel accepts; ``mode`` returns how messages to an
    address are delivered; ``takes_files`` returns whether a channel shows files; ``memory`` is what
    the turn may read and change of the agent's memory; ``may_write`` returns whether a chat
    (channel and id) may be sent messages; ``store`` is for tools that read; ``meaning`` embeds a
    text, or returns None without an embeddings model; ``document_text`` finds the text of a file;
    ``draw`` asks the agent's model for pictures;
    ``find_asked_chat`` returns the chat that is asked about a call of a chat, if any;
    ``denied_tools`` may not be used in this turn; ``environments`` are the variables that are set
    outside the prompt; ``off_loop`` reads files; ``command_tool``: the agent runs commands by
    it; ``fast_tasks``: tasks may be due more than once a minute; ``origin`` is who may have written
    what the turn writes; ``offered`` are the tools that the agent has, None where that is unknown;
    ``call_env`` goes along with each call of the agent's own servers.
    """

    agent_id: str
    turn_id: str
    address: Address
    now: int
    timezone: str
    skill_directories: tuple[Path, ...]
    skills: tuple[str, ...]
    split: Callable[[str, str], tuple[ReplyPart, ...]]
    mode: Callable[[Address], str]
    takes_files: Callable[[str], bool]
    memory: MemoryScope
    may_write: Callable[[Database, str, str], bool]
    store: Store
    meaning: Callable[[str], Awaitable[Embedding | None]]
    document_text: ReadDocument
    draw: Callable[[DrawingRequest], Awaitable[DrawingResult]]
    find_asked_chat: Callable[[Database, Address], Address | None] = lambda _, origin: origin
    denied_tools: tuple[str, ...] = ()
    environments: Environments = field(default_factory=Environments)
    off_loop: OffLoop = run_off_loop
    command_tool: str = ""
    fast_tasks: bool = False
    origin: Origin = "user"
    offered: tuple[ToolSpec, ...] | None = None
    call_env: Mapping[str, str] = field(default_factory=dict)

    @property
    def source(self) -> str:
        """The source mark of rows that this call writes."""
        return f"turn {self.turn_id}"


class QuotedText(str):
    """A result with text of others; ``origin`` is the least trusted author."""

    __slots__ = ("origin",)
    origin: Origin

    def __new__(cls, text: str, origin: Origin) -> Self:
        made = super().__new__(cls, text)
        made.origin = origin
        return made


class MadeFiles(str):
    """A result with ``files`` that the tool made, which are stored as files of the chat."""

    __slots__ = ("files",)
    files: tuple[FileContent, ...]

    def __new__(cls, text: str, files: tuple[FileContent, ...]) -> Self:
        made = super().__new__(cls, text)
        made.files = files
        return made


STRING: JsonObject = {"type": "string"}
STRINGS: JsonObject = {"type": "array", "items": STRING}
Effect: TypeAlias = Callable[[Database, ToolContext, JsonObject], str]
Reading: TypeAlias = Callable[[ToolContext, JsonObject], Awaitable[str]]


@dataclass(frozen=True)
class JournalTool:
    """A tool whose effect is a transaction of the journal; ``private``: what it reads is.

    ``lasts`` returns whether a call with these arguments changes what later turns follow.
    """

    spec: ToolSpec
    effect: Effect
    aliases: frozenset[str] = frozenset()  # arguments accepted beyond those of ``spec``
    private: bool = False
    lasts: Callable[[JsonObject], bool] = lambda _: False


@dataclass(frozen=True)
class PlainTool:
    """A tool that reads from outside the journal, too; ``private``: what it reads is.

    It is given up after so many ``seconds``. ``suits`` returns whether an agent is offered it.
    """

    spec: ToolSpec
    run: Reading
    private: bool = False
    seconds: float = TOOL_TIMEOUT
    suits: Callable[[AgentDefinition], bool] = lambda _: True


def find_subagent_result(_db: Database, run: SubagentRun) -> str | None:
    """Return a subagent's result, None while it works; raise `ToolFailure` if it failed."""
    if not run.has_ended:
        return None
    if run.state == "done" and not run.failed:
        return run.result
    raise ToolFailure(f"Subagent failed: {run.result or run.error}")


@dataclass(frozen=True)
class DelegatingTool:
    """A tool whose work is another turn.

    ``start`` begins the work of a call; ``result`` is called for a call that has begun its work.
    Both return the result, or None while the work goes on. A tool that ``hands_over`` gives the
    turn to another agent.
    """

    spec: ToolSpec
    start: Callable[[Database, ToolContext, Call], str | None]
    result: Callable[[Database, SubagentRun], str | None] = find_subagent_result
    hands_over: bool = False

    def begin_or_find_result(self, db: Database, context: ToolContext, call: Call) -> str | None:
        """Return the result of a call, beginning it if needed; None while it runs."""
        run = subagents.find_run_of_call(db, call.turn_id, call.seq)
        return self.start(db, context, call) if run is None else self.result(db, run)


@dataclass(frozen=True)
class Caller:
    """The agent and chat for which a call of an `ExtensionTool` runs.

    ``key`` identifies the call: it is the same when a ``keyed`` call is repeated.
    """

    agent_id: str
    channel: str
    chat_id: str
    timezone: str
    key: str


@dataclass(frozen=True)
class ExtensionTool:
    """A tool whose ``function`` runs in a thread, so that it cannot hold the daemon.

    The other fields are as in `orchestrator.tools.extension_tool.define_tool`.
    """

    spec: ToolSpec
    function: Callable[[Caller, JsonObject], str]
    private: bool
    carries: bool
    origin: Origin
    seconds: float
    extension: str = ""  # that brings it, if it is of another distribution


def mark_quoted_text(text: str, origins: Iterable[Origin]) -> str:
    """Return text of these authors, marked if one of them is untrusted."""
    worst = find_least_trusted(*origins)
    return QuotedText(text, worst) if worst in UNTRUSTED else text


def build_tool_result(call: Call, text: str, *, private: bool = False) -> ToolResult:
    """Return the result of a call with this text."""
    origin: Origin = text.origin if isinstance(text, QuotedText) else "operator"
    return ToolResult(
        call_id=call.call_id,
        name=call.name,
        content=str(text),
        origin=origin,
        private=private,
        files=text.files if isinstance(text, MadeFiles) else (),
    )


HostTool: TypeAlias = JournalTool | PlainTool | DelegatingTool | ExtensionTool


def journal_tool(
    description: str,
    properties: Mapping[str, str | JsonObject],
    required: Sequence[str] = (),
    *,
    side_effect: SideEffect = SideEffect.LOCAL_TX,
    keywords: str = "",
    aliases: frozenset[str] = frozenset(),
    private: bool = False,
    lasts: Callable[[JsonObject], bool] = lambda _: False,
) -> Callable[[Effect], JournalTool]:
    """Make a tool of a function and name it so. Parameters as in `build_tool_spec`."""

    def build_journal_tool(effect: Effect) -> JournalTool:
        name = effect.__name__
        about = build_tool_spec(
            name, description, properties, required, side_effect, keywords=keywords
        )
        return JournalTool(about, effect, aliases, private, lasts)

    return build_journal_tool


def assume_lasting(_arguments: JsonObject) -> bool:
    """Return True: what a `JournalTool` with this as ``lasts`` does always lasts."""
    return True


def show_example(example: JsonObject) -> Callable[[JournalTool], JournalTool]:
    """Add an example of valid arguments, for a schema that cannot say what excludes what."""

    def add_example(tool: JournalTool) -> JournalTool:
        parameters = tool.spec.parameters | {"examples": [example]}
        return replace(tool, spec=tool.spec.model_copy(update={"parameters": parameters}))

    return add_example


def plain_tool(
    description: str,
    properties: Mapping[str, str | JsonObject],
    required: Sequence[str] = (),
    *,
    keywords: str = "",
    private: bool = False,
    seconds: float = TOOL_TIMEOUT,
    suits: Callable[[AgentDefinition], bool] = lambda _: True,
) -> Callable[[Reading], PlainTool]:
    """Make a tool of a function that only reads, like `journal_tool`."""

    def build_plain_tool(run: Reading) -> PlainTool:
        name, pure = run.__name__, SideEffect.PURE
        about = build_tool_spec(name, description, properties, required, pure, keywords=keywords)
        return PlainTool(about, run, private, seconds, suits)

    return build_plain_tool


def build_tool_spec(
    name: str,
    description: str,
    properties: Mapping[str, str | JsonObject],
    required: Sequence[str] = (),
    side_effect: SideEffect = SideEffect.LOCAL_TX,
    *,
    always: bool = True,
    keywords: str = "",
) -> ToolSpec:
    """Return a specification.

    ``properties`` has for each parameter its JSON Schema, or the description of a string, empty
    where the name says it.
    ``always`` offers the tool in every turn, also when there are more tools than the model gets;
    one with ``keywords`` is offered on demand.
    """
    fields: dict[str, JsonValue] = {
        key: (STRING | {"description": about} if about else STRING)
        if isinstance(about, str)
        else about
        for key, about in properties.items()
    }
    parameters: JsonObject = {"type": "object", "properties": fields}
    if required:
        parameters["required"] = list(required)
    return ToolSpec(
        name=name,
        description=description,
        parameters=parameters,
        side_effect=side_effect,
        always=always and not keywords,
        keywords=tuple(parse_words(keywords)),
    )


def list_parameters(tool: HostTool) -> list[str]:
    """Return the names of a tool's parameters, as models see them."""
    properties = tool.spec.parameters.get("properties")
    return [*properties] if isinstance(properties, dict) else []


def describe_unknown_arguments(tool: HostTool, arguments: JsonObject) -> str | None:
    """Explain which arguments the tool does not take, and which it does; None if all are valid."""
    known = list_parameters(tool)
    aliases = tool.aliases if isinstance(tool, JournalTool) else frozenset()
    unknown = [repr(name) for name in arguments if name not in known and name not in aliases]
    if not unknown:
        return None
    takes = f"takes: {', '.join(known)}" if known else "takes no arguments"
    plural = "s" if len(unknown) > 1 else ""
    return f"unknown argument{plural} {', '.join(unknown)}; {tool.spec.name} {takes}"


def read_text_argument(arguments: JsonObject, key: str, default: str = "") -> str:
    """Return an argument as text without surrounding white space."""
    value = arguments.get(key)
    return default if value is None else str(value).strip()


def read_number_argument(
    arguments: JsonObject, key: str, default: float, low: float, high: float
) -> float:
    """Return a number argument; raise `ToolFailure` if it is not a number or out of bounds."""
    value = arguments.get(key)
    if value is None:
        return default
    if not isinstance(value, int | float) or isinstance(value, bool) or not low <= value <= high:
        raise ToolFailure(f"{key} must be a number from {low:g} to {high:g}")
    return value
