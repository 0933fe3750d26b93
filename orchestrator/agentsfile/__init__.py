"""agents.json: models, loader and checks."""

from orchestrator.agentsfile.agent_definition import AgentDefinition as AgentDefinition
from orchestrator.agentsfile.agent_definition import CostControls as CostControls
from orchestrator.agentsfile.agent_definition import Limits as Limits
from orchestrator.agentsfile.agents_file import AgentsDiff as AgentsDiff
from orchestrator.agentsfile.agents_file import AgentsFile as AgentsFile
from orchestrator.agentsfile.agents_file import Binding as Binding
from orchestrator.agentsfile.agents_file import Channels as Channels
from orchestrator.agentsfile.agents_file import McpServer as McpServer
from orchestrator.agentsfile.agents_file import ModelReference as ModelReference
from orchestrator.agentsfile.agents_file import diff_agents as diff_agents
from orchestrator.agentsfile.channel_settings import ChannelSettings as ChannelSettings
from orchestrator.agentsfile.channel_settings import LocalChannel as LocalChannel
from orchestrator.agentsfile.chat_channels import Access as Access
from orchestrator.agentsfile.chat_channels import ChatChannel as ChatChannel
from orchestrator.agentsfile.chat_channels import GroupRules as GroupRules
from orchestrator.agentsfile.chat_channels import HostedSettings as HostedSettings
from orchestrator.agentsfile.costs import Budget as Budget
from orchestrator.agentsfile.costs import Price as Price
from orchestrator.agentsfile.costs import find_price as find_price
from orchestrator.agentsfile.field_types import ConfigModel as ConfigModel
from orchestrator.agentsfile.loading import LoadedConfig as LoadedConfig
from orchestrator.agentsfile.loading import load_agents_file as load_agents_file
from orchestrator.agentsfile.loading import parse_agents_file as parse_agents_file
from orchestrator.agentsfile.problems import AgentsFileError as AgentsFileError
from orchestrator.agentsfile.server_sandbox import ServerSandbox as ServerSandbox
from orchestrator.config_problem import Problem as Problem
