"""Load agents.json, report all problems together and keep the valid parts.

An agent, binding, MCP server or extension with an error is left out; a channel with an error is
disabled. Only a file without a single valid agent is refused as a whole.

Where: is agents.json validated?
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, partial
from hashlib import blake2b
from pathlib import Path
from types import MappingProxyType
from typing import get_args

from pydantic_core import to_json

from orchestrator.agentsfile import agents_file
from orchestrator.agentsfile.agent_definition import AgentDefinition
from orchestrator.agentsfile.agents_file import (
    AgentsFile,
    Retention,
    SandboxMode,
)
from orchestrator.agentsfile.checks import run_checks
from orchestrator.agentsfile.costs import Budget, Price
from orchestrator.agentsfile.draft import Draft
from orchestrator.agentsfile.field_types import (
    MODEL_NAME,
)
from orchestrator.agentsfile.missing_extensions import explain_entry_extension
from orchestrator.agentsfile.mounting import load_models
from orchestrator.agentsfile.moved_chats import use_first_ids
from orchestrator.agentsfile.positions import (
    Document,
    JsonPath,
    JsonSyntaxError,
    parse_json_document,
)
from orchestrator.agentsfile.problems import (
    MAX_SHOWN,
    AgentsFileError,
    list_field_names,
    suggest_place,
)
from orchestrator.agentsfile.provider_names import suggest_provider
from orchestrator.agentsfile.provider_settings import TAKEN, ProviderSettings
from orchestrator.agentsfile.references import fill_references
from orchestrator.agentsfile.section_loading import (
    drop_missing_fields,
    load_channels,
    load_extensions,
)
from orchestrator.agentsfile.valid_parts import (
    load_valid_entries,
    read_list_at,
    read_object_at,
    validate_part,
)
from orchestrator.config_problem import Problem
from thinker.formats import regular_file
from thinker.formats.regular_file import FileError, FileMissingError
from thinker.protocol.messages import JsonObject
from thinker.protocol.providers import PROVIDERS


@dataclass(frozen=True)
class LoadedConfig:
    """A usable agents.json: its valid parts, its problems and its bytes.

    ``secrets`` are the fields that may hold a secret in the bytes themselves. ``validated`` has the
    agents by the digests of their text, so that the next reading can use them again. ``numbers``
    are the places of the agents in the list, by their ids.
    """

    file: AgentsFile
    problems: tuple[Problem, ...]
    data: bytes
    document: Document
    secrets: tuple[str, ...] = ()
    validated: Mapping[bytes, AgentDefinition] = field(default_factory=dict, repr=False)
    numbers: Mapping[str, int] = field(default_factory=dict, repr=False)

    @property
    def without_values(self) -> "LoadedConfig":
        """The same without the bytes and the values in them, which take most of its memory."""
        return replace(self, data=b"", document=replace(self.document, value=None))

    @property
    def errors(self) -> tuple[Problem, ...]:
        """The problems that caused a part to be left out."""
        return tuple(problem for problem in self.problems if problem.severity == "error")

    def locate_problems(self, problems: Iterable[Problem]) -> tuple[Problem, ...]:
        """Return problems of agents that other checks found, with the file's line numbers."""
        return tuple(
            replace(problem, line=self.find_line(problem.agent_id, problem.path))
            if problem.agent_id is not None and not problem.line
            else problem
            for problem in problems
        )

    def find_line(self, agent_id: str, field: str) -> int:
        """Return the line of an agent's field, or of the agent; 0 for an unknown agent."""
        number = self.numbers.get(agent_id)
        return 0 if number is None else self.document.find_line(("agents", number, field))

    def has_value_at(self, path: JsonPath) -> bool:
        """Return whether the file has a value at a place, valid or not."""
        return self.document.has_part(path)


def load_agents_file(
    path: Path,
    environ: Mapping[str, str] | None = None,
    moved: Mapping[str, Mapping[str, str]] = MappingProxyType({}),
    home: Path | None = None,
    before: LoadedConfig | None = None,
) -> LoadedConfig:
    """Read the file at ``path``, taking keys and ``${NAME}`` from ``environ``.

    ``home`` is the daemon's, which no server may reach. ``moved`` has the first ids of
    moved chats, keyed by new id, for each channel. Agents that are as ``before`` are the same
    objects.

    Raises:
        AgentsFileError: the file cannot be read, is not JSON or has no valid agent.
    """
    try:
        data = regular_file.read_bytes(path, regular_file.AGENTS_FILE)
    except FileError as error:
        missing = isinstance(error, FileMissingError)
        advice = "; check the path or run: orchestrator init" if missing else ""
        reason = f"cannot be read: {error}{advice}"
        raise AgentsFileError([Problem.build_unusable(path, reason)]) from error
    return parse_agents_file(data, path.name, environ, moved, home, before)


def parse_agents_file(
    data: bytes,
    name: str = "agents.json",
    environ: Mapping[str, str] | None = None,
    moved: Mapping[str, Mapping[str, str]] = MappingProxyType({}),
    home: Path | None = None,
    before: LoadedConfig | None = None,
) -> LoadedConfig:
    """Parse the bytes of a file as `load_agents_file` does; messages call the file ``name``.

    Raises:
        AgentsFileError: the bytes are not JSON or have no valid agent.
    """
    draft = Draft(name, _parse_document(data, name))
    value = draft.document.value
    if not isinstance(value, dict):
        draft.add_error((), 'must be an object with "agents" in it')
        raise AgentsFileError(draft.problems)
    _check_repeated_fields(draft)
    fill_references(draft, value, environ or {})
    _load_providers(draft, value)
    validated = _load_agents(draft, value, before)
    _load_bindings(draft, value)
    load_channels(draft, value)
    load_extensions(draft, value)
    draft.mcp_servers = load_valid_entries(
        draft, value, "mcpServers", agents_file.McpServer, "server"
    )
    draft.models = load_valid_entries(draft, value, "models", agents_file.ModelReference, "model")
    draft.prices = load_valid_entries(draft, value, "prices", Price, "price", pattern=MODEL_NAME)
    draft.variables = _load_variables(draft, value)
    kept = validate_part(
        draft, ("retention",), value.get("retention", {}), Retention, ("retention", None)
    )
    draft.retention = kept or draft.retention
    _load_simple_fields(draft, value)
    _load_budget(draft, value)
    _load_sandbox(draft, value)
    run_checks(draft, environ, home)
    use_first_ids(draft, moved)
    problems = tuple(sorted(draft.problems, key=lambda problem: problem.line))
    if not draft.agents:
        raise AgentsFileError(problems)
    return LoadedConfig(
        _build_agents_file(draft),
        problems,
        data,
        draft.document,
        tuple(draft.secrets),
        validated,
        _number_agents(value),
    )


def _parse_document(data: bytes, name: str) -> Document:
    try:
        return parse_json_document(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        message = "is not UTF-8 text; save it with that encoding"
    except JsonSyntaxError as error:
        line, message = error.line, str(error)
    raise AgentsFileError([Problem.build_unusable(name, message, line)])


def _build_agents_file(draft: Draft) -> AgentsFile:
    parts = vars(draft) | {
        "agents": tuple(draft.agents.values()),
        "bindings": tuple(draft.bindings.values()),
        "tests": tuple(draft.tests.values()),
    }
    # Each part is valid already, and may be an instance of a subclass.
    file = AgentsFile.model_construct(**{name: parts[name] for name in AgentsFile.model_fields})
    file.index_agents()
    return file


def _number_agents(value: JsonObject) -> dict[str, int]:
    """Return the place of each agent in the list, of the first one with an id."""
    items = value.get("agents")
    found: dict[str, int] = {}
    for number, item in enumerate(items if isinstance(items, list) else ()):
        if isinstance(item, dict) and isinstance(item.get("agentId"), str):
            found.setdefault(str(item["agentId"]), number)
    return found


def _check_repeated_fields(draft: Draft) -> None:
    twice = [path for path in draft.document.repeated if len(path) == 1]
    for path in twice:
        draft.add_error(path, f'"{path[0]}" appears twice; merge the two')
    if twice:  # other problems depend on which of the two is right
        raise AgentsFileError(draft.problems)


def _load_agents(
    draft: Draft, value: JsonObject, before: LoadedConfig | None
) -> dict[bytes, AgentDefinition]:
    """Load the agents; return them by the digests of their text."""
    items = read_list_at(draft, value, "agents")
    if not items:
        _load_simple_fields(draft, value)  # its name may be misspelt
        draft.add_error(("agents",), 'has no agents; add one to "agents"')
        raise AgentsFileError(draft.problems)
    model = load_models().agent
    explain = cache(partial(explain_entry_extension, "agents"))
    known_before = _list_reusable_agents(draft, before)
    validated: dict[bytes, AgentDefinition] = {}
    for number, item in enumerate(items):
        name = item.get("agentId") if isinstance(item, dict) else None
        known = name if isinstance(name, str) else None
        subject = f"agent '{known}'" if known else f"agent {number + 1}"
        path: JsonPath = ("agents", number)
        part = drop_missing_fields(draft, path, item, (subject, known), explain)
        digest = blake2b(to_json(part), digest_size=16).digest()
        agent = known_before.get(digest)
        if agent is None:
            agent = validate_part(draft, path, part, model, (subject, known))
        if agent is not None:
            draft.agents[number] = validated[digest] = agent
    return validated


def _list_reusable_agents(
    draft: Draft, before: LoadedConfig | None
) -> Mapping[bytes, AgentDefinition]:
    """Return the agents that would come of the same text, by its digest."""
    if before is None or draft.document.repeated or draft.unfilled:
        return {}
    return before.validated if before.file.known_providers == draft.known_providers else {}


def _load_providers(draft: Draft, value: JsonObject) -> None:
    found = load_valid_entries(draft, value, "providers", ProviderSettings, "provider")
    for name, settings in found.items():
        if name in TAKEN or (name not in PROVIDERS and settings.base_url is None):
            lack = "is a name with another meaning; choose another one"
            draft.add_error(
                ("providers", name),
                f"provider '{name}' {lack if name in TAKEN else _describe_missing_address(name)}",
            )
        else:
            draft.providers[name] = settings


def _describe_missing_address(name: str) -> str:
    return f'has no baseUrl; set "baseUrl"{suggest_provider(name)}'


def _load_bindings(draft: Draft, value: JsonObject) -> None:
    for number, item in enumerate(read_list_at(draft, value, "bindings")):
        subject = f"binding {number + 1}"
        binding = validate_part(
            draft, ("bindings", number), item, agents_file.Binding, (subject, None)
        )
        if binding is not None:
            draft.bindings[number] = binding.with_channel_of_account
    for number, item in enumerate(read_list_at(draft, value, "tests")):
        named = (f"test {number + 1}", None)
        test = validate_part(draft, ("tests", number), item, agents_file.RouteTest, named)
        if test is not None:
            draft.tests[number] = test


def _load_variables(draft: Draft, value: JsonObject) -> dict[str, str]:
    valid: dict[str, str] = {}
    for name, item in read_object_at(draft, value, "variables").items():
        if isinstance(item, str):
            valid[name] = item
        else:
            draft.add_error(("variables", name), f'variables: "{name}" must be text; quote it')
    return valid


def _load_simple_fields(draft: Draft, value: JsonObject) -> None:
    known = list_field_names(AgentsFile)
    for key in value:
        if key not in known:
            draft.add_error((key,), f'unknown field "{key}"' + suggest_place(key, known))
        elif value[key] and (missing := explain_entry_extension("file", key)):
            draft.add_warning((key,), f'"{key}" {missing}')
    for key in ("fallbackAgentId", "$schema"):
        text = value.get(key)
        if text is not None and not isinstance(text, str):
            draft.add_error((key,), f'"{key}" must be text, not {json.dumps(text)[:40]}')
        elif key == "$schema":
            draft.schema_ = text
        else:
            draft.fallback_agent_id = text


def _load_budget(draft: Draft, value: JsonObject) -> None:
    limits = value.get("budget")
    if limits is not None:
        found = validate_part(draft, ("budget",), limits, Budget, ("budget", None))
        draft.budget = found or Budget(tokens_per_month=1)  # an invalid limit allows no call


def _load_sandbox(draft: Draft, value: JsonObject) -> None:
    mode = value.get("sandbox", draft.sandbox)
    for known in get_args(SandboxMode):
        if mode == known:
            draft.sandbox = known
            return
    draft.sandbox = "required"  # asks for more jail, not less
    shown = json.dumps(mode)[:MAX_SHOWN]
    draft.add_error(("sandbox",), f'"sandbox" must be "auto", "required" or "off", not {shown}')
