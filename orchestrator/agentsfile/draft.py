"""An agents.json while it is being loaded: the valid parts so far and every problem."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from orchestrator.agentsfile import agents_file
from orchestrator.agentsfile.agent_definition import AgentDefinition
from orchestrator.agentsfile.channel_kinds import ACCOUNT_SIGN
from orchestrator.agentsfile.channel_settings import ChannelSettings
from orchestrator.agentsfile.costs import Budget, Price
from orchestrator.agentsfile.positions import Document, JsonPath
from orchestrator.agentsfile.problems import format_path
from orchestrator.agentsfile.provider_settings import ProviderSettings, merge_providers
from orchestrator.config_problem import Problem, Severity
from thinker.protocol.providers import Provider


@dataclass
class Draft:
    """Valid parts, keyed by place in the file, filled by the loader and pruned by the checks."""

    name: str
    document: Document
    agents: dict[int, AgentDefinition] = field(default_factory=dict)
    bindings: dict[int, agents_file.Binding] = field(default_factory=dict)
    tests: dict[int, agents_file.RouteTest] = field(default_factory=dict)
    channels: agents_file.Channels = field(default_factory=agents_file.Channels)
    extensions: agents_file.ExtensionSettings = field(default_factory=agents_file.ExtensionSettings)
    wrong_channels: set[str] = field(default_factory=set)
    """Channels that an error switches off."""
    left_out: set[JsonPath] = field(default_factory=set)
    """Named entries that an error leaves out."""
    mcp_servers: dict[str, agents_file.McpServer] = field(default_factory=dict)
    providers: dict[str, ProviderSettings] = field(default_factory=dict)
    models: dict[str, agents_file.ModelReference] = field(default_factory=dict)
    prices: dict[str, Price] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)
    budget: Budget | None = None
    retention: agents_file.Retention = field(default_factory=agents_file.Retention)
    fallback_agent_id: str | None = None
    sandbox: agents_file.SandboxMode = "auto"
    schema_: str | None = None
    problems: list[Problem] = field(default_factory=list)
    unfilled: set[JsonPath] = field(default_factory=set)
    """Fields whose text names a variable that is not set."""
    secrets: dict[str, None] = field(default_factory=dict)
    """Fields whose value in the file itself may be a secret, in their order."""

    @property
    def known_providers(self) -> Mapping[str, Provider]:
        """The providers that agents of the file can name so far."""
        return merge_providers(self.providers)

    def list_declared_ids(self) -> set[str]:
        """Return every agent id in the file, including those of invalid agents."""
        value = self.document.value
        agents = value.get("agents") if isinstance(value, dict) else None
        items = agents if isinstance(agents, list) else []
        ids = [item.get("agentId") for item in items if isinstance(item, dict)]
        return {agent_id for agent_id in ids if isinstance(agent_id, str)}

    def replace_channel(self, name: str, settings: ChannelSettings) -> None:
        """Replace the settings of a channel."""
        self.channels = self.channels.model_copy(update={name: settings})

    def close_channel(self, name: str) -> None:
        """Switch off a channel whose error has been reported."""
        section = self.channels.list_sections()[name]
        self.replace_channel(name, section.model_copy(update={"enabled": False}))
        self.wrong_channels.add(name)

    def add_error(self, path: JsonPath, message: str, agent_id: str | None = None) -> None:
        """Record a part that cannot be used."""
        self._add_problem("error", path, message, agent_id)

    def add_warning(self, path: JsonPath, message: str, agent_id: str | None = None) -> None:
        """Record a setting that may not do what its author expects."""
        self._add_problem("warning", path, message, agent_id)

    def add_effect_warnings(self, channel: str, effects: Iterable[tuple[str, str]]) -> None:
        """Warn about each setting of a channel that gives rights to others, with its effect."""
        for name, effect in effects:
            self.add_warning(
                ("channels", channel, name), f"channel '{channel}' has \"{name}\": {effect}"
            )

    def find_line(self, *path: str | int) -> int:
        return self.document.find_line(path)

    def _add_problem(
        self, severity: Severity, path: JsonPath, message: str, agent_id: str | None
    ) -> None:
        if isinstance(path, str):
            raise TypeError(f"the path of a problem is a tuple such as ({path!r},)")
        if path[:1] == ("channels",):  # fields of an account are in its channel's section
            system, *account = str(path[1]).split(ACCOUNT_SIGN) if path[1:] else ("",)
            path = (*path[:1], system, "accounts", *account, *path[2:]) if account else path
        line = self.document.find_line(path)
        self.problems.append(
            Problem(severity, self.name, line, agent_id, message, path=format_path(path))
        )
