"""agents.json: its models, its loader and the problems that a file may have."""

from orchestrator.agentsfile.agent_definition import AgentDefinition, CostControls, Limits
from orchestrator.agentsfile.agents_file import (
    Access,
    AgentsFile,
    Binding,
    Channels,
    LocalChannel,
    McpServer,
    ModelReference,
    TelegramChannel,
)
from orchestrator.agentsfile.costs import Budget, Price, find_price
from orchestrator.agentsfile.differences import AgentsDiff, diff
from orchestrator.agentsfile.loading import LoadedConfig, load, parse
from orchestrator.agentsfile.problems import AgentsFileError, Problem

__all__ = [
    "Access",
    "AgentDefinition",
    "AgentsDiff",
    "AgentsFile",
    "AgentsFileError",
    "Binding",
    "Budget",
    "Channels",
    "CostControls",
    "Limits",
    "LoadedConfig",
    "LocalChannel",
    "McpServer",
    "ModelReference",
    "Price",
    "Problem",
    "TelegramChannel",
    "diff",
    "find_price",
    "load",
    "parse",
]
