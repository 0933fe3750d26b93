"""The providers that an agent can name, and what each needs.

The supervisor uses it to choose a provider and pass on exactly one key; the worker uses it to reach
the provider.
"""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Provider:
    """One provider: wire format, address and variables.

    ``model_var`` is the environment variable that holds the model. ``default_model`` applies only
    to ``"llmProvider": "auto"``; if empty, the running server is asked for its models.
    ``checks_arguments``: the server rejects ``"5"`` for a number, so it is sent relaxed schemas.
    ``cache_key``: it accepts a ``prompt_cache_key``. ``output_beside_tools``: its models still call
    tools when a schema of the answer is sent.
    """

    name: str
    wire: Literal["openai", "anthropic", "demo"]
    base_url: str = ""
    key_var: str | None = None
    model_var: str = "THINKER_MODEL"
    default_model: str = ""
    local: bool = False
    checks_arguments: bool = False
    cache_key: bool = False
    output_beside_tools: bool = False


CUSTOM = "custom"  # provider name of a server that only has an address

PROVIDERS: dict[str, Provider] = {
    provider.name: provider
    for provider in (
        Provider(
            "anthropic",
            "anthropic",
            "https://api.anthropic.com",
            "ANTHROPIC_API_KEY",
            default_model="claude-sonnet-4-5",
            output_beside_tools=True,
        ),
        Provider(
            "openai",
            "openai",
            "https://api.openai.com/v1",
            "OPENAI_API_KEY",
            default_model="gpt-4.1-mini",
            cache_key=True,
            output_beside_tools=True,
        ),
        Provider(
            "groq",
            "openai",
            "https://api.groq.com/openai/v1",
            "GROQ_API_KEY",
            "GROQ_MODEL",
            default_model="qwen/qwen3-32b",
            checks_arguments=True,
        ),
        Provider(
            "openrouter",
            "openai",
            "https://openrouter.ai/api/v1",
            "OPENROUTER_API_KEY",
            default_model="openrouter/auto",
        ),
        Provider("ollama", "openai", "http://127.0.0.1:11434/v1", None, "OLLAMA_MODEL", local=True),
        Provider(
            "lmstudio", "openai", "http://127.0.0.1:1234/v1", None, "LMSTUDIO_MODEL", local=True
        ),
        Provider("demo", "demo", default_model="demo"),
    )
}
