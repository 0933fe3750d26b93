"""Load agents.json, report all problems at once and keep the valid parts.

An agent, binding, MCP server or webhook with an error is left out; a channel with an error is
disabled. Only a file without a single valid agent is refused as a whole.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import get_args

from orchestrator.agentsfile import agents_file
from orchestrator.agentsfile.agent_definition import AgentDefinition
from orchestrator.agentsfile.agents_file import (
    AgentsFile,
    Channels,
    HookChannel,
    Retention,
    SandboxMode,
)
from orchestrator.agentsfile.channel_kinds import channel_kinds
from orchestrator.agentsfile.chat_channels import HostedSettings
from orchestrator.agentsfile.checks import check
from orchestrator.agentsfile.costs import Price
from orchestrator.agentsfile.draft import Draft
from orchestrator.agentsfile.field_types import (
    MODEL_NAME,
    ConfigModel,
)
from orchestrator.agentsfile.hook_settings import IncomingHook, OutgoingHook
from orchestrator.agentsfile.moved_chats import use_first_ids
from orchestrator.agentsfile.positions import Document, JsonPath, JsonSyntaxError, read
from orchestrator.agentsfile.problems import (
    MAX_SHOWN,
    AgentsFileError,
    Problem,
    field_names,
    misplaced,
    suggestion,
)
from orchestrator.agentsfile.provider_names import advice
from orchestrator.agentsfile.provider_settings import TAKEN, ProviderSettings
from orchestrator.agentsfile.references import fill
from orchestrator.agentsfile.valid_parts import entries, list_at, object_at, valid_part
from thinker.formats import regular_file
from thinker.formats.regular_file import FileError, FileMissingError
from thinker.protocol.messages import JsonObject
from thinker.protocol.providers import PROVIDERS

HOOK: JsonPath = ("channels", "hook")


@dataclass(frozen=True)
class LoadedConfig:
    """A usable agents.json: its valid parts, its problems and its bytes.

    ``secrets`` are the fields that may hold a secret in the bytes themselves.
    """

    file: AgentsFile
    problems: tuple[Problem, ...]
    data: bytes
    document: Document
    secrets: tuple[str, ...] = ()

    @property
    def errors(self) -> tuple[Problem, ...]:
        """The problems that caused a part to be left out."""
        return tuple(problem for problem in self.problems if problem.severity == "error")

    def located(self, problems: Iterable[Problem]) -> tuple[Problem, ...]:
        """Return problems of agents that other checks found, with their lines in this file."""
        return tuple(
            replace(problem, line=self.line(problem.agent_id, problem.path))
            if problem.agent_id is not None and not problem.line
            else problem
            for problem in problems
        )

    def line(self, agent_id: str, field: str) -> int:
        """Return the line of a field of an agent, or else of the agent; 0 if it has none."""
        value = self.document.value
        agents = value.get("agents") if isinstance(value, dict) else None
        for number, item in enumerate(agents if isinstance(agents, list) else ()):
            if isinstance(item, dict) and item.get("agentId") == agent_id:
                return self.document.line(("agents", number, field))
        return 0

    def states(self, path: JsonPath) -> bool:
        """Return whether the file has something at a place, be it wrong or not."""
        return path in self.document.lines


def load(
    path: Path,
    environ: Mapping[str, str] | None = None,
    moved: Mapping[str, str] = MappingProxyType({}),
    home: Path | None = None,
) -> LoadedConfig:
    """Read the file at ``path``; ``environ`` is where keys and ``${NAME}`` are looked up.

    ``home`` is the daemon's, which no server may reach. ``moved`` are the first ids of Telegram
    chats that have new ones, by the new ids.

    Raises:
        AgentsFileError: the file cannot be read, is not JSON or has no valid agent.
    """
    try:
        data = regular_file.read_bytes(path, regular_file.AGENTS_FILE)
    except FileError as error:
        missing = isinstance(error, FileMissingError)
        advice = "; check the path or run: orchestrator init" if missing else ""
        reason = f"cannot be read: {error}{advice}"
        raise AgentsFileError([Problem.unusable(path, reason)]) from error
    return parse(data, path.name, environ, moved, home)


def parse(
    data: bytes,
    name: str = "agents.json",
    environ: Mapping[str, str] | None = None,
    moved: Mapping[str, str] = MappingProxyType({}),
    home: Path | None = None,
) -> LoadedConfig:
    """Parse the bytes of a file as `load` does; messages call it ``name``.

    Raises:
        AgentsFileError: the bytes are not JSON or have no valid agent.
    """
    draft = Draft(name, _document(data, name))
    value = draft.document.value
    if not isinstance(value, dict):
        draft.error((), 'must be an object with "agents" in it')
        raise AgentsFileError(draft.problems)
    _repeated_at_top(draft)
    fill(draft, value, environ or {})
    _providers(draft, value)
    _agents(draft, value)
    _bindings(draft, value)
    _channels(draft, value)
    draft.mcp_servers = entries(draft, value, "mcpServers", agents_file.McpServer)
    draft.models = entries(draft, value, "models", agents_file.ModelReference)
    draft.prices = entries(draft, value, "prices", Price, MODEL_NAME)
    draft.variables = _variables(draft, value)
    kept = valid_part(
        draft, ("retention",), value.get("retention", {}), Retention, ("retention", None)
    )
    draft.retention = kept or draft.retention
    _simple(draft, value)
    _sandbox(draft, value)
    check(draft, environ, home)
    use_first_ids(draft, moved)
    problems = tuple(sorted(draft.problems, key=lambda problem: problem.line))
    if not draft.agents:
        raise AgentsFileError(problems)
    return LoadedConfig(_file(draft), problems, data, draft.document, tuple(draft.secrets))


def _document(data: bytes, name: str) -> Document:
    try:
        return read(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        message = "is not UTF-8 text; save it with that encoding"
    except JsonSyntaxError as error:
        line, message = error.line, str(error)
    raise AgentsFileError([Problem.unusable(name, message, line)])


def _file(draft: Draft) -> AgentsFile:
    parts = vars(draft) | {
        "agents": tuple(draft.agents.values()),
        "bindings": tuple(draft.bindings.values()),
    }
    return AgentsFile(**{name: parts[name] for name in AgentsFile.model_fields})


def _repeated_at_top(draft: Draft) -> None:
    twice = [path for path in draft.document.repeated if len(path) == 1]
    for path in twice:
        draft.error(path, f'"{path[0]}" appears twice; merge the two')
    if twice:  # other problems depend on which of the two is right
        raise AgentsFileError(draft.problems)


def _agents(draft: Draft, value: JsonObject) -> None:
    items = list_at(draft, value, "agents")
    if not items:
        _simple(draft, value)  # its name may be misspelt
        draft.error(("agents",), 'has no agents; add one to "agents"')
        raise AgentsFileError(draft.problems)
    for number, item in enumerate(items):
        name = item.get("agentId") if isinstance(item, dict) else None
        known = name if isinstance(name, str) else None
        subject = f"agent '{known}'" if known else f"agent {number + 1}"
        agent = valid_part(draft, ("agents", number), item, AgentDefinition, (subject, known))
        if agent is not None:
            draft.agents[number] = agent


def _providers(draft: Draft, value: JsonObject) -> None:
    found = entries(draft, value, "providers", ProviderSettings)
    for name, settings in found.items():
        if name in TAKEN or (name not in PROVIDERS and settings.base_url is None):
            lack = "is a name with another meaning; choose another one"
            draft.error(
                ("providers", name),
                f"provider '{name}' {lack if name in TAKEN else _no_address(name)}",
            )
        else:
            draft.providers[name] = settings


def _no_address(name: str) -> str:
    return f'has no baseUrl; set "baseUrl"{advice(name)}'


def _bindings(draft: Draft, value: JsonObject) -> None:
    for number, item in enumerate(list_at(draft, value, "bindings")):
        subject = f"binding {number + 1}"
        binding = valid_part(
            draft, ("bindings", number), item, agents_file.Binding, (subject, None)
        )
        if binding is not None:
            draft.bindings[number] = binding


def _channels(draft: Draft, value: JsonObject) -> None:
    sections = object_at(draft, value, "channels")
    hosted = {name: HostedSettings for name in channel_kinds() if name in sections}
    known = (*field_names(Channels), *channel_kinds())
    for name in sections:
        if name not in known:
            draft.error(("channels", name), f"unknown channel '{name}'" + suggestion(name, known))

    fields = {name: type(field.default) for name, field in Channels.model_fields.items()}
    found: dict[str, ConfigModel] = {}
    for name, model in (fields | hosted).items():
        section, subject = sections.get(name, {}), (f"channel '{name}'", None)
        channel = (
            _hooks(draft, section)
            if model is HookChannel and isinstance(section, dict)
            else valid_part(draft, ("channels", name), section, model, subject)
        )
        found[name] = channel or model(enabled=False)
        if channel is None:
            draft.wrong_channels.add(name)
    draft.channels = Channels.model_validate(found)


def _hooks(draft: Draft, section: JsonObject) -> HookChannel | None:
    """Load webhooks one by one: one with an error is left out, and the others go on."""
    incoming = entries(draft, section, "incoming", IncomingHook, above=HOOK)
    outgoing = entries(draft, section, "outgoing", OutgoingHook, above=HOOK)
    own = {key: item for key, item in section.items() if key not in ("incoming", "outgoing")}
    channel = valid_part(draft, HOOK, own, HookChannel, ("channel 'hook'", None))
    return channel and channel.model_copy(update={"incoming": incoming, "outgoing": outgoing})


def _variables(draft: Draft, value: JsonObject) -> dict[str, str]:
    valid: dict[str, str] = {}
    for name, item in object_at(draft, value, "variables").items():
        if isinstance(item, str):
            valid[name] = item
        else:
            draft.error(("variables", name), f'variables: "{name}" must be text; quote it')
    return valid


def _simple(draft: Draft, value: JsonObject) -> None:
    known = field_names(AgentsFile)
    for key in value:
        if key not in known:
            draft.error((key,), f'unknown field "{key}"' + misplaced(key, known))
    for key in ("fallbackAgentId", "$schema"):
        text = value.get(key)
        if text is not None and not isinstance(text, str):
            draft.error((key,), f'"{key}" must be text, not {json.dumps(text)[:40]}')
        elif key == "$schema":
            draft.schema_ = text
        else:
            draft.fallback_agent_id = text


def _sandbox(draft: Draft, value: JsonObject) -> None:
    mode = value.get("sandbox", draft.sandbox)
    for known in get_args(SandboxMode):
        if mode == known:
            draft.sandbox = known
            return
    draft.sandbox = "required"  # a wish for more than was understood
    shown = json.dumps(mode)[:MAX_SHOWN]
    draft.error(("sandbox",), f'"sandbox" must be "auto", "required" or "off", not {shown}')
