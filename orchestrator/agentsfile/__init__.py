"""agents.json: its models, its loader and the problems that a file may have."""

from orchestrator.agentsfile.agent_definition import AgentDefinition as AgentDefinition
from orchestrator.agentsfile.agent_definition import CostControls as CostControls
from orchestrator.agentsfile.agent_definition import Limits as Limits
from orchestrator.agentsfile.agents_file import Access as Access
from orchestrator.agentsfile.agents_file import AgentsDiff as AgentsDiff
from orchestrator.agentsfile.agents_file import AgentsFile as AgentsFile
from orchestrator.agentsfile.agents_file import Binding as Binding
from orchestrator.agentsfile.agents_file import Channels as Channels
from orchestrator.agentsfile.agents_file import LocalChannel as LocalChannel
from orchestrator.agentsfile.agents_file import McpServer as McpServer
from orchestrator.agentsfile.agents_file import ModelReference as ModelReference
from orchestrator.agentsfile.agents_file import TelegramChannel as TelegramChannel
from orchestrator.agentsfile.agents_file import diff as diff
from orchestrator.agentsfile.costs import Budget as Budget
from orchestrator.agentsfile.costs import Price as Price
from orchestrator.agentsfile.costs import find_price as find_price
from orchestrator.agentsfile.hand_settings import Web as Web
from orchestrator.agentsfile.hand_settings import Workspace as Workspace
from orchestrator.agentsfile.loading import LoadedConfig as LoadedConfig
from orchestrator.agentsfile.loading import load as load
from orchestrator.agentsfile.loading import parse as parse
from orchestrator.agentsfile.problems import AgentsFileError as AgentsFileError
from orchestrator.agentsfile.problems import Problem as Problem
from orchestrator.agentsfile.server_sandbox import ServerSandbox as ServerSandbox
