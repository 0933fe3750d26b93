"""The tools that the supervisor itself runs: built-in ones and those of extensions."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple

import structlog

from orchestrator.active_extensions import list_active_names
from orchestrator.agentsfile import AgentDefinition, AgentsFile
from orchestrator.errors import FAULTS, describe_fault
from orchestrator.installed import Loaded, find_installed
from orchestrator.tools.builtin.catalog import TOOLS
from orchestrator.tools.builtin.host_tool import ExtensionTool, HostTool, PlainTool
from orchestrator.tools.policy import select_offered_tools
from orchestrator.tools.remote_tools import find_owner
from orchestrator.tools.tool_server import list_servable_tools
from thinker.formats.prompts.tooluse import INJECTED, NOTIFY_PARENT
from thinker.protocol.messages import ToolSpec

LAST_TOOLS = ("spawn_subagent", NOTIFY_PARENT, "find_tools")  # behind those of extensions
SEND_FILE = "send_file"
MAX_CACHED = 8  # configurations, as tests and commands look at several
log = structlog.get_logger()


class HostTools(NamedTuple):
    """Tools by name, and a sentence about each one that was left out."""

    tools: Mapping[str, HostTool]
    problems: tuple[str, ...] = ()


class TakenNames(NamedTuple):
    """Names that foreign tools cannot have: of ``tools``, and with the prefixes of ``servers``.

    The names of the tools of an MCP server begin with its own.
    """

    tools: frozenset[str] = frozenset()
    servers: frozenset[str] = frozenset()


def find_host_tools(file: AgentsFile) -> HostTools:
    """Return the tools of an agents.json; the same object while the extensions are the same."""
    taken = TakenNames(list_servable_tools(file), frozenset(file.mcp_servers))
    return _find_host_tools(list_active_names(file), taken)


def list_own_tools() -> Mapping[str, HostTool]:
    """List the tools that need no agents.json: built-in ones and those of bundled extensions."""
    return _find_host_tools(frozenset(), TakenNames()).tools


@lru_cache(MAX_CACHED)
def _find_host_tools(active: frozenset[str], taken: TakenNames) -> HostTools:
    found = find_installed()
    foreign = (found.foreign[name] for name in sorted(active & found.foreign.keys()))
    tools = build_host_tools(found.own.values(), foreign, taken)
    for problem in tools.problems:
        log.warning("tool_left_out", problem=problem)
    return tools


def build_host_tools(
    own: Iterable[Loaded], foreign: Iterable[Loaded], taken: TakenNames
) -> HostTools:
    """Build the built-in tools, those of bundled extensions, and those of foreign ones."""
    added = {tool.spec.name: tool for extension in own for tool in extension.list_tools()}
    problems: list[str] = []
    for extension in foreign:
        for tool in _list_foreign_tools(extension, problems):
            name = tool.spec.name
            problem = _find_clash(name, {**TOOLS, **added}, taken)
            if problem:
                problems.append(f"the tool {name!r} of the extension {extension.name!r}: {problem}")
            else:
                added[name] = tool
    every = TOOLS | added
    last = {name: every.pop(name) for name in LAST_TOOLS if name in every}
    return HostTools(MappingProxyType(every | last), tuple(problems))


def _list_foreign_tools(extension: Loaded, problems: list[str]) -> Iterator[ExtensionTool]:
    """Yield the tools of a foreign extension; a faulty one becomes a problem."""
    about = f"the extension {extension.name!r}"
    try:
        tools = tuple(extension.list_tools())
    except FAULTS as error:
        problems.append(f"{about} could not list its tools: {describe_fault(error)}")
        return
    for tool in tools:
        if isinstance(tool, ExtensionTool):
            yield replace(tool, extension=extension.name)
        else:
            problems.append(f"{about} has a tool {tool!r:.60}, which @define_tool has not made")


def _find_clash(name: str, known: Mapping[str, HostTool], taken: TakenNames) -> str:
    """Return the reason why a name cannot be used, and what to do; empty if it can."""
    if name in TOOLS or name in taken.tools or name in INJECTED:
        return "a built-in tool has this name; rename it"
    if name in known:
        return "a tool of another extension has this name; rename one of them"
    server = find_owner(name, taken.servers)
    if server:
        return f"its name is one for tools of the MCP server {server!r}; rename one of them"
    return ""


def list_offered_host_tools(
    tools: Mapping[str, HostTool], definition: AgentDefinition
) -> tuple[ToolSpec, ...]:
    """Return the tools that an agent's globs permit.

    ``notify_parent`` is only for subagents. Agents can always send the pictures that they
    have drawn.
    """
    every = []
    for name, tool in tools.items():
        if name == NOTIFY_PARENT or (isinstance(tool, PlainTool) and not tool.suits(definition)):
            continue
        shown = name == SEND_FILE and definition.images is not None
        every.append(tool.spec.model_copy(update={"keywords": ()}) if shown else tool.spec)
    return select_offered_tools(every, definition)
