"""A model on loopback that calls the tool that a person names: ``!tool {"argument": 1}``."""

from typing import Any

from fakes.fences import inside
from fakes.held_model import HeldModel, agent, said
from fakes.model_api import Reply

from thinker.protocol.messages import JsonObject


class CallingModel(HeldModel):
    """Answers with the result of the call; without a call it repeats what was said."""

    def echo(self, body: dict[str, Any]) -> Reply:
        """A call, its result, or the text."""
        last = body["messages"][-1]
        if last["role"] == "tool":
            return Reply(f"result: {inside(last['content'])}")
        name, _, arguments = said(body).partition(" ")
        if name.startswith("!"):
            return Reply(tool_calls=((name[1:], arguments or "{}"),))
        return super().echo(body)

    def offered(self, text: str) -> dict[str, JsonObject]:
        """The tools in the first request about a text, by name."""
        tools = self.requests_about(text)[0].body.get("tools", [])
        return {tool["function"]["name"]: tool["function"] for tool in tools}


def one_agent(model: HeldModel, servers: JsonObject, **fields: Any) -> JsonObject:
    """An agent that answers every Telegram chat, and MCP servers."""
    return {
        "agents": [agent("work", model, **fields)],
        "bindings": [{"channel": "telegram", "chatId": "*", "agentId": "work"}],
        "channels": {"telegram": {"access": "open"}},
        "mcpServers": servers,
    }


def operated(config: JsonObject, chat: str) -> JsonObject:
    """The same, with a Telegram chat that is bound by its id, and so an operator's."""
    agents: Any = config["agents"]
    own = {"channel": "telegram", "chatId": chat, "agentId": agents[0]["agentId"]}
    bindings: Any = config["bindings"]
    return {**config, "bindings": [own, *bindings]}
