"""What a person means by a provider, and what agents.json has to say for it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from orchestrator.agentsfile.agent_definition import AgentDefinition
from orchestrator.agentsfile.vendors import VENDORS, named
from orchestrator.errors import ConfigError
from thinker.protocol.messages import JsonObject
from thinker.protocol.providers import PROVIDERS, Provider

CHOICES = (*PROVIDERS, *VENDORS)
COMPATIBLE = "openai"  # the provider whose API other vendors speak


@dataclass(frozen=True)
class ModelAccount:
    """How a model is reached; ``key_var`` is the name of its key in keys.env.

    With ``key_in_file`` the key itself stands in agents.json. ``base_url`` is empty for the usual
    address, and ``key_var`` if the key of the provider is not for this address.
    """

    name: str
    provider: Provider
    base_url: str = ""
    key_var: str | None = None
    key_in_file: bool = False

    @property
    def url(self) -> str:
        """The address that is asked."""
        return (self.base_url or self.provider.base_url).rstrip("/")

    @property
    def needs_key(self) -> bool:
        """Whether it answers no one without a key; a server of one's own may."""
        return self.key_var is not None and (not self.base_url or self.name in VENDORS)

    def fields(self, model: str) -> JsonObject:
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


def account(name: str, base_url: str = "") -> ModelAccount:
    """Return the account of a provider or vendor by any name that people use, or by its address.

    Raises:
        ConfigError: there is none of this name.
    """
    if name.startswith(("http://", "https://")):
        return account(_at(name) or COMPATIBLE, name)
    found = named(name)
    if (vendor := VENDORS.get(found)) is not None:
        url = base_url or vendor.base_url
        return ModelAccount(found, PROVIDERS[COMPATIBLE], url, vendor.key_var)
    provider = PROVIDERS.get(found)
    if provider is not None:
        usual = "" if base_url.rstrip("/") == provider.base_url else base_url
        return ModelAccount(found, provider, usual, provider.key_var)
    raise ConfigError(
        f"no provider is called {name!r}; use one of {', '.join(CHOICES)}, or the address of an"
        " OpenAI-compatible API, such as https://HOST/v1"
    )


def _at(url: str) -> str:
    """Return the provider or vendor whose usual address it is; empty if it is of no other."""
    usual = {name: provider.base_url for name, provider in PROVIDERS.items()}
    usual |= {name: vendor.base_url for name, vendor in VENDORS.items()}
    return next((name for name, base in usual.items() if base == url.rstrip("/")), "")


def of_agent(agent: JsonObject, environ: Mapping[str, str]) -> ModelAccount | None:
    """Return the account that an agent of agents.json uses; None if it names none."""
    name, url, env = (agent.get(key) for key in ("llmProvider", "baseUrl", "env"))
    name = name or AgentDefinition.model_fields["llm_provider"].default
    if name == "auto":
        return with_a_key(environ, PROVIDERS) or account("demo")
    if not isinstance(name, str) or name not in PROVIDERS:
        return None
    provider, own = PROVIDERS[name], url if isinstance(url, str) else ""
    value = env.get(str(provider.key_var)) if isinstance(env, dict) else None
    key_var, in_file = provider.key_var, False
    if value == "":
        key_var = ""
    elif isinstance(value, str):
        in_file = not (value.startswith("${") and value.endswith("}"))
        key_var = None if in_file else value[2:-1]
    for vendor, known in VENDORS.items():
        if known.base_url == own.rstrip("/"):
            key_var = key_var if known.key_var else None
            return ModelAccount(vendor, provider, own, key_var, in_file)
    return ModelAccount(name, provider, own, key_var, in_file)


def with_a_key(environ: Mapping[str, str], names: Iterable[str] = CHOICES) -> ModelAccount | None:
    """Return the first provider or vendor of these names whose key is set."""
    for name in names:
        found = account(name)
        if found.key_var and environ.get(found.key_var):
            return found
    return None
