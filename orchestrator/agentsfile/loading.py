"""Load agents.json, report all problems at once and keep the valid parts.

An agent, binding or MCP server with an error is left out; a channel with an error is disabled.
Only a file without a single valid agent is refused as a whole.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import TypeVar, get_args

from pydantic import BaseModel, JsonValue, ValidationError

from orchestrator.agentsfile import agents_file
from orchestrator.agentsfile.agent_definition import AgentDefinition
from orchestrator.agentsfile.agents_file import AgentsFile, Channels, Retention, SandboxMode
from orchestrator.agentsfile.checks import check
from orchestrator.agentsfile.costs import Price
from orchestrator.agentsfile.draft import Draft
from orchestrator.agentsfile.field_types import ENTRY_NAME, MODEL_NAME, PATTERN_WORDS
from orchestrator.agentsfile.moved_chats import use_first_ids
from orchestrator.agentsfile.positions import Document, JsonPath, JsonSyntaxError, read
from orchestrator.agentsfile.problems import (
    MAX_SHOWN,
    AgentsFileError,
    Problem,
    field_names,
    merged,
    misplaced,
    sentence,
    suggestion,
)
from orchestrator.agentsfile.references import fill
from thinker.formats import regular_file
from thinker.formats.regular_file import FileError, FileMissingError
from thinker.protocol.messages import JsonObject

M = TypeVar("M", bound=BaseModel)
C = TypeVar(
    "C",
    agents_file.TelegramChannel,
    agents_file.LocalChannel,
    agents_file.ApiSettings,
    agents_file.PageSettings,
)
ENTRY_NOUNS = {"mcpServers": "server", "models": "model", "prices": "price"}


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
    _agents(draft, value)
    _bindings(draft, value)
    _channels(draft, value)
    draft.mcp_servers = _entries(draft, value, "mcpServers", agents_file.McpServer)
    draft.models = _entries(draft, value, "models", agents_file.ModelReference)
    draft.prices = _entries(draft, value, "prices", Price, MODEL_NAME)
    draft.variables = _variables(draft, value)
    kept = _valid(draft, ("retention",), value.get("retention", {}), Retention, ("retention", None))
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
    items = _list(draft, value, "agents")
    if not items:
        _simple(draft, value)  # its name may be misspelt
        draft.error(("agents",), 'has no agents; add one to "agents"')
        raise AgentsFileError(draft.problems)
    for number, item in enumerate(items):
        name = item.get("agentId") if isinstance(item, dict) else None
        known = name if isinstance(name, str) else None
        subject = f"agent '{known}'" if known else f"agent {number + 1}"
        agent = _valid(draft, ("agents", number), item, AgentDefinition, (subject, known))
        if agent is not None:
            draft.agents[number] = agent


def _bindings(draft: Draft, value: JsonObject) -> None:
    for number, item in enumerate(_list(draft, value, "bindings")):
        subject = f"binding {number + 1}"
        binding = _valid(draft, ("bindings", number), item, agents_file.Binding, (subject, None))
        if binding is not None:
            draft.bindings[number] = binding


def _channels(draft: Draft, value: JsonObject) -> None:
    sections = _object(draft, value, "channels")
    known = field_names(Channels)
    for name in sections:
        if name not in known:
            draft.error(("channels", name), f"unknown channel '{name}'" + suggestion(name, known))

    def section(name: str, model: type[C]) -> C:
        subject = (f"channel '{name}'", None)
        found = _valid(draft, ("channels", name), sections.get(name, {}), model, subject)
        return found or model(enabled=False)

    draft.channels = Channels(
        telegram=section("telegram", agents_file.TelegramChannel),
        console=section("console", agents_file.LocalChannel),
        web=section("web", agents_file.PageSettings),
        api=section("api", agents_file.ApiSettings),
    )


def _entries(
    draft: Draft, value: JsonObject, key: str, model: type[M], pattern: str = ENTRY_NAME
) -> dict[str, M]:
    valid: dict[str, M] = {}
    for name, item in _object(draft, value, key).items():
        if not re.match(pattern, name):
            draft.error((key, name), f"{key}: the name {name!r} {PATTERN_WORDS[pattern]}")
            continue
        entry = _valid(draft, (key, name), item, model, (f"{ENTRY_NOUNS[key]} '{name}'", None))
        if entry is not None:
            valid[name] = entry
    return valid


def _variables(draft: Draft, value: JsonObject) -> dict[str, str]:
    valid: dict[str, str] = {}
    for name, item in _object(draft, value, "variables").items():
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


def _list(draft: Draft, value: JsonObject, key: str) -> list[JsonValue]:
    items = value.get(key, [])
    if isinstance(items, list):
        return items
    draft.error((key,), f'"{key}" must be a list')
    return []


def _object(draft: Draft, value: JsonObject, key: str) -> JsonObject:
    members = value.get(key, {})
    if isinstance(members, dict):
        return members
    draft.error((key,), f'"{key}" must be an object')
    return {}


def _valid(
    draft: Draft, path: JsonPath, item: JsonValue, model: type[M], subject: tuple[str, str | None]
) -> M | None:
    """Validate the part at ``path`` as a ``model``; record its problems and return None if invalid.

    ``subject`` is how messages name the part, and the id of its agent if it is one.
    """
    name, agent_id = subject
    twice = [p for p in draft.document.repeated if p[: len(path)] == path]
    for repeated in twice:
        draft.error(repeated, f'{name}: "{repeated[-1]}" appears twice; remove one', agent_id)
    try:
        found = model.model_validate_json(
            json.dumps(item), strict=True, by_alias=True, by_name=False
        )
    except ValidationError as error:
        for detail in merged(error.errors(include_url=False), item):
            if (*path, *detail["loc"]) in draft.unfilled:
                continue  # it has its own message
            draft.error((*path, *detail["loc"]), sentence(name, detail, model), agent_id)
        return None
    unfilled = any(place[: len(path)] == path for place in draft.unfilled)
    return None if twice or unfilled else found
