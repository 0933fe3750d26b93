"""The tools for MCP clients: one for each of a few agents, and those that the role allows.

Of many agents, one tool finds some and another one asks any: clients hand all tools to a model.

Where: are agents offered to MCP clients?
"""

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from anyio.lowlevel import checkpoint
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from orchestrator.agentsfile import AgentDefinition
from orchestrator.control.roles import Right
from orchestrator.errors import OrchestratorError
from orchestrator.extensions.mcp_server.agent_talk import (
    AgentMessage,
    AgentTalk,
    NamedAgentMessage,
    Wait,
)
from orchestrator.extensions.mcp_server.mcp_caller import McpAnswer, McpCaller, McpToolCall
from orchestrator.extensions.mcp_server.operator_tools import (
    ApprovalVerdict,
    ChatList,
    ChatNote,
    ChatRead,
    NoArguments,
    OperatorTools,
)
from orchestrator.extensions.mcp_server.rpc_messages import INVALID_PARAMS, McpProblem
from thinker.protocol.messages import JsonObject

MOST_TOOLS = 50  # agents with a tool each; of more, none has one
MOST_FOUND = 20  # agents in an answer
AT_ONCE = 1000  # agents compared before other work has its turn; each takes 2 us
ASK = "ask_"
ABOUT = "Ask the agent {name!r}, which has its own tools and memory."
Handler = Callable[[McpToolCall], Awaitable[McpAnswer]]


class AgentSearch(BaseModel):
    """Which agents to find."""

    model_config = ConfigDict(extra="forbid")

    search: str = Field(
        "",
        max_length=200,
        description="A part of the agent's id or of what it is for; without it, all are found.",
    )


class OfferedTool(NamedTuple):
    """A tool: how clients see it, and what runs it."""

    name: str
    title: str
    description: str
    arguments: type[BaseModel]
    handler: Handler
    reads: bool = False  # it changes nothing
    destroys: bool = False  # the effect may be irreversible
    open_world: bool = False  # it reaches beyond the daemon

    def build_definition(self) -> JsonObject:
        hints: JsonObject = {
            "title": self.title,
            "readOnlyHint": self.reads,
            "destructiveHint": self.destroys,
            "idempotentHint": self.reads,
            "openWorldHint": self.open_world,
        }
        return {
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "inputSchema": _build_schema(self.arguments),
            "annotations": hints,
        }


@dataclass(frozen=True)
class OfferedTools:
    """All tools."""

    talk: AgentTalk
    operator: OperatorTools

    def list_tools(self, caller: McpCaller) -> list[OfferedTool]:
        """List the tools for a caller, agents first."""
        return [*self._list_agent_tools(caller), *self._list_other_tools(caller)]

    async def run(self, call: McpToolCall) -> McpAnswer:
        """Run a tool; the caller's mistakes become its answer.

        Raises:
            McpProblem: the caller has no such tool.
        """
        tool = next((tool for tool in self.list_tools(call.caller) if tool.name == call.name), None)
        if tool is None:
            raise McpProblem(INVALID_PARAMS, f"unknown tool {call.name!r}; see tools/list")
        try:
            return await tool.handler(call)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            place = ".".join(map(str, first["loc"])) or "arguments"
            return _build_error_answer(f"{place}: {first['msg']}")
        except McpProblem:
            raise
        except OrchestratorError as error:
            return _build_error_answer(str(error))

    def _list_agent_tools(self, caller: McpCaller) -> Iterator[OfferedTool]:
        if not caller.has_right(Right.CHAT):
            return
        if len(self.talk.daemon.configuration.file.list_enabled_ids()) > MOST_TOOLS:
            yield OfferedTool(
                "find_agents",
                "Find agents",
                f"Find the agents that ask can ask, at most {MOST_FOUND} at a time.",
                AgentSearch,
                self._find_agents,
                reads=True,
            )
            yield OfferedTool(
                "ask",
                "Ask an agent",
                "Ask an agent, each of which has its own tools and memory.",
                NamedAgentMessage,
                self.talk.ask_named_agent,
                destroys=True,
                open_world=True,
            )
            return
        for agent in self._list_agents():
            about = f"{ABOUT.format(name=agent.agent_id)} {self._find_description(agent)}"
            yield OfferedTool(
                ASK + agent.agent_id,
                f"Ask {agent.agent_id}",
                about.rstrip(),
                AgentMessage,
                partial(self.talk.ask_agent, agent.agent_id),
                destroys=True,
                open_world=True,
            )

    def _list_agents(self) -> list[AgentDefinition]:
        file = self.talk.daemon.configuration.file
        usable = file.list_enabled_ids()
        return [agent for agent in file.agents if agent.agent_id in usable]

    async def _find_agents(self, call: McpToolCall) -> McpAnswer:
        """Return the first agents whose id or description has a text, and how many more there are.

        Other work has its turn in between.
        """
        wanted = AgentSearch.model_validate(call.arguments).search.casefold()
        found = list[tuple[str, str]]()
        for number, agent in enumerate(self._list_agents()):
            about = self._find_description(agent)
            if wanted in f"{agent.agent_id} {about}".casefold():
                found.append((agent.agent_id, about))
            if number % AT_ONCE == 0:
                await checkpoint()
        shown, more = found[:MOST_FOUND], max(0, len(found) - MOST_FOUND)
        lines = [f"{name}: {about}" if about else name for name, about in shown]
        lines += [f"and {more:,} more; search for a longer text"] if more else []
        data: JsonObject = {
            "agents": [{"agent": name, "description": about} for name, about in shown],
            "more": more,
        }
        return McpAnswer(("\n".join(lines) or "No agent has this text.",), data)

    def _list_other_tools(self, caller: McpCaller) -> Iterator[OfferedTool]:
        operator = self.operator
        if caller.has_right(Right.CHAT):
            yield OfferedTool(
                "wait_for_answer",
                "Wait for an answer",
                "Wait for the answer to a message that an agent has not answered yet.",
                Wait,
                self.talk.wait_for_answer,
                reads=True,
            )
            yield OfferedTool(
                "list_chats",
                "List chats",
                "List the chats of the agents, the one with the newest message first.",
                ChatList,
                operator.list_chats,
                reads=True,
            )
            yield OfferedTool(
                "read_chat",
                "Read a chat",
                "Read the newest messages of a chat, oldest first.",
                ChatRead,
                operator.read_chat,
                reads=True,
            )
        if caller.has_right(Right.CHANGE):
            yield OfferedTool(
                "send_to_chat",
                "Write to a chat",
                "Send a text to the people of a chat, in the name of its bot. No agent answers"
                " it: to talk to an agent, call its own tool.",
                ChatNote,
                operator.send_to_chat,
                destroys=True,
                open_world=True,
            )
        if caller.has_right(Right.DECIDE):
            yield OfferedTool(
                "list_approvals",
                "List waiting approvals",
                "List the tool calls of agents that wait for a person's approval.",
                NoArguments,
                operator.list_approvals,
                reads=True,
            )
            yield OfferedTool(
                "answer_approval",
                "Answer an approval",
                "Grant or deny a tool call that waits. Ask the user first: it is their decision.",
                ApprovalVerdict,
                operator.answer_approval,
                destroys=True,
            )

    def _find_description(self, agent: AgentDefinition) -> str:
        """Return an agent's description, or its prompt's."""
        bundle = self.talk.daemon.configuration.prompts.current_set.find_bundle(agent)
        return agent.description or (bundle and bundle.root.tool_description) or ""


def _build_error_answer(problem: str) -> McpAnswer:
    return McpAnswer((problem,), {"error": problem}, failed=True)


def _build_schema(model: type[BaseModel]) -> JsonObject:
    """Return the JSON Schema of arguments, with a plain type where None only means absence."""
    whole: JsonObject = model.model_json_schema()
    fields = whole.get("properties")
    fields = fields if isinstance(fields, dict) else {}
    plain: JsonObject = {name: _simplify_field(field) for name, field in fields.items()}
    required = whole.get("required", [])
    return {
        "type": "object",
        "properties": plain,
        "required": required,
        "additionalProperties": False,
    }


def _simplify_field(field: object) -> JsonObject:
    found: JsonObject = dict(field) if isinstance(field, dict) else {}
    choices = found.pop("anyOf", None)
    if isinstance(choices, list) and isinstance(choices[0], dict):
        found |= choices[0]
    return {key: value for key, value in found.items() if key not in {"title", "default"}}
