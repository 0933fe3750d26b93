"""agents.json: its models, its loader and what may be wrong with it (design §5)."""

from orchestrator.definitions.agent import AgentDefinition, CostControls, Limits
from orchestrator.definitions.changes import AgentsDiff, diff
from orchestrator.definitions.costs import Budget, Price, find_price
from orchestrator.definitions.file import (
    Access,
    AgentsFile,
    Binding,
    Channels,
    LocalChannel,
    McpServer,
    ModelReference,
    TelegramChannel,
)
from orchestrator.definitions.loading import LoadedConfig, load, parse
from orchestrator.definitions.problems import AgentsFileError, Problem

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
