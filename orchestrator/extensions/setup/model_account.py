"""The provider that a person means, and its settings for agents.json."""

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from orchestrator.agentsfile.agent_definition import AgentDefinition
from orchestrator.agentsfile.problems import suggest_name
from orchestrator.agentsfile.provider_names import match_provider_name
from orchestrator.errors import ConfigError
from thinker.protocol.messages import JsonObject
from thinker.protocol.providers import PROVIDERS, Provider

COMPATIBLE = "openai"  # the provider whose API other servers speak
LOCAL = "local"  # the provider whose server the daemon runs
FIRST_AGENT = "assistant"  # the name of the agent of a new file
SHOWN = (
    "anthropic",
    "openai",
    "gemini",
    "mistral",
    "deepseek",
    "xai",
    "groq",
    "together",
    "azure",
    "openrouter",
    "ollama",
    "lmstudio",
    LOCAL,
    "demo",
)


def parse_host(url: str) -> str:
    """Return the host and port of an address, without a login in it."""
    return urlsplit(url).netloc.rpartition("@")[2]


@dataclass(frozen=True)
class ModelAccount:
    """How to reach a model; ``key_var`` is the name of its key in keys.env.

    With ``key_in_file`` the key itself is in agents.json. ``base_url`` is empty for the usual
    address, and ``key_var`` if the provider's key is not for this address. ``name`` is the provider
    at the address; older files have ``provider`` and the address instead.
    """

    name: str
    provider: Provider
    base_url: str = ""
    key_var: str | None = None
    key_in_file: bool = False

    @property
    def url(self) -> str:
        """The address to call."""
        return (self.base_url or self.provider.base_url).rstrip("/")

    @property
    def has_usual_address(self) -> bool:
        """Whether the address is a known provider's usual one."""
        there = PROVIDERS.get(self.name, self.provider)
        return not there.base_url or there.base_url == self.url

    @property
    def needs_key(self) -> bool:
        """Whether the provider requires a key; a private server may not."""
        return self.key_var is not None and (not self.base_url or self.has_usual_address)

    def build_fields(self, model: str) -> JsonObject:
        """Return the fields of an agent that uses the model."""
        found: JsonObject = {"llmProvider": self.provider.name}
        if self.provider.name != "demo":
            found["model"] = model
        if self.base_url:
            found["baseUrl"] = self.base_url
        if self.key_var is not None and self.key_var != self.provider.key_var:
            value = f"${{{self.key_var}}}" if self.key_var else ""
            found["env"] = {str(self.provider.key_var): value}
        return found


def find_account(
    name: str, base_url: str = "", known: Mapping[str, Provider] = PROVIDERS
) -> ModelAccount:
    """Return the account of a provider, by any of its names or its address.

    Raises:
        ConfigError: the name is unknown.
    """
    if name.startswith(("http://", "https://")):
        return find_account(_find_provider_at(name, known) or COMPATIBLE, name, known)
    provider = known.get(name) or known.get(match_provider_name(name, known))
    if provider is not None:
        usual = "" if base_url.rstrip("/") == provider.base_url else base_url
        return ModelAccount(provider.name, provider, usual, provider.key_var)
    advice = (
        f"use one of {', '.join(known)}, or the address of an OpenAI-compatible API, such as"
        " https://HOST/v1"
    )
    raise ConfigError(f"unknown provider {name!r}{suggest_name(name, known, advice)}")


def _find_provider_at(url: str, known: Mapping[str, Provider]) -> str:
    """Return the provider with this usual address; empty if there is none."""
    host = url.split("/")[2].partition(":")[0]
    if host.endswith((".openai.azure.com", ".cognitiveservices.azure.com")):
        return "azure"
    usual = {name: provider.base_url for name, provider in known.items()}
    return next((name for name, base in usual.items() if base == url.rstrip("/")), "")


def find_agent_account(
    agent: JsonObject, environ: Mapping[str, str], known: Mapping[str, Provider] = PROVIDERS
) -> ModelAccount | None:
    """Return the account that an agent of agents.json uses; None if it names none."""
    name, url, env = (agent.get(key) for key in ("llmProvider", "baseUrl", "env"))
    name = name or AgentDefinition.model_fields["llm_provider"].default
    if name == "auto":
        return find_account_with_key(environ, known) or find_account("demo")
    if not isinstance(name, str) or name not in known:
        return None
    provider, own = known[name], url if isinstance(url, str) else ""
    value = env.get(str(provider.key_var)) if isinstance(env, dict) else None
    key_var, in_file = provider.key_var, False
    if value == "":
        key_var = ""
    elif isinstance(value, str):
        in_file = not (value.startswith("${") and value.endswith("}"))
        key_var = None if in_file else value[2:-1]
    there = PROVIDERS.get(_find_provider_at(own, PROVIDERS) if own else "")
    if there is not None and there is not provider:
        key_var = key_var if there.key_var else None
        return ModelAccount(there.name, provider, own, key_var, in_file)
    return ModelAccount(name, provider, own, key_var, in_file)


def find_account_with_key(
    environ: Mapping[str, str], known: Mapping[str, Provider] = PROVIDERS
) -> ModelAccount | None:
    """Return the first provider whose key is set and that needs nothing else."""
    for name, provider in known.items():
        if provider.key_var and provider.default_model and environ.get(provider.key_var):
            return find_account(name, known=known)
    return None
