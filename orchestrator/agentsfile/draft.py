"""An agents.json while it is being loaded: the valid parts so far and every problem."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from orchestrator.agentsfile import agents_file
from orchestrator.agentsfile.agent_definition import AgentDefinition
from orchestrator.agentsfile.costs import Price
from orchestrator.agentsfile.positions import Document, JsonPath
from orchestrator.agentsfile.problems import Problem, Severity, path_text
from orchestrator.agentsfile.provider_settings import ProviderSettings, all_providers
from thinker.protocol.providers import Provider


@dataclass
class Draft:
    """Valid parts by their place in the file; the loader fills it and the checks prune it."""

    name: str
    document: Document
    agents: dict[int, AgentDefinition] = field(default_factory=dict)
    bindings: dict[int, agents_file.Binding] = field(default_factory=dict)
    channels: agents_file.Channels = field(default_factory=agents_file.Channels)
    wrong_channels: set[str] = field(default_factory=set)
    """Channels that an error switches off."""
    left_out: set[JsonPath] = field(default_factory=set)
    """Entries with a name that an error leaves out."""
    mcp_servers: dict[str, agents_file.McpServer] = field(default_factory=dict)
    providers: dict[str, ProviderSettings] = field(default_factory=dict)
    models: dict[str, agents_file.ModelReference] = field(default_factory=dict)
    prices: dict[str, Price] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)
    retention: agents_file.Retention = field(default_factory=agents_file.Retention)
    fallback_agent_id: str | None = None
    sandbox: agents_file.SandboxMode = "auto"
    schema_: str | None = None
    problems: list[Problem] = field(default_factory=list)
    unfilled: set[JsonPath] = field(default_factory=set)
    """Texts with a variable that is not set."""
    secrets: dict[str, None] = field(default_factory=dict)
    """Fields in which a secret may stand in the file itself, in their order."""

    @property
    def known_providers(self) -> Mapping[str, Provider]:
        """The providers that agents of the file can name, so far."""
        return all_providers(self.providers)

    def error(self, path: JsonPath, message: str, agent_id: str | None = None) -> None:
        """Record something that cannot be used."""
        self._add("error", path, message, agent_id)

    def warn(self, path: JsonPath, message: str, agent_id: str | None = None) -> None:
        """Record something that works differently from what its author may expect."""
        self._add("warning", path, message, agent_id)

    def warn_of(self, channel: str, effects: Iterable[tuple[str, str]]) -> None:
        """Record what others can do by settings of a channel, each with its effect."""
        for name, effect in effects:
            self.warn(("channels", channel, name), f"channel '{channel}' has \"{name}\": {effect}")

    def line(self, *path: str | int) -> int:
        return self.document.line(path)

    def _add(self, severity: Severity, path: JsonPath, message: str, agent_id: str | None) -> None:
        line = self.document.line(path)
        self.problems.append(Problem(severity, self.name, line, agent_id, path_text(path), message))
