"""The providers that an agent can name, and what each needs.

The supervisor reads it to choose a provider and to pass on exactly one key; the worker reads it
to reach the provider.
"""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Provider:
    """One provider: wire format, address, the names of its variables.

    ``model_var`` is the variable in which the worker is told its model (seed 002 fixes three of
    them); ``checks_arguments`` is a server that refuses ``"5"`` for a number before we can mend it
    (seed 002 relaxes schemas for it); ``cache_key`` one that takes a ``prompt_cache_key``;
    ``output_beside_tools`` one whose models still call tools when sent the schema of the answer;
    ``default_model`` is used by ``"llmProvider": "auto"`` alone,
    empty where the running server is asked which models it has.
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


CUSTOM = "custom"  # the name of a server that is known by its address alone

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
            default_model="qwen/qwen3-32b",  # the seed's own default
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
