"""Pins of MCP tools, without a chat that hears of them."""

from orchestrator.agentsfile import AgentDefinition, AgentsFile
from orchestrator.extensions.mcp_client.pins import ToolPins
from orchestrator.journal.db.store import Store


def silent_pins(store: Store) -> ToolPins:
    """Pins in a journal; no agent has a chat that is told of changes."""
    agent = AgentDefinition(agent_id="work", llm_provider="demo")
    return ToolPins(store, lambda: AgentsFile(agents=(agent,)), lambda: 0, lambda: None)
