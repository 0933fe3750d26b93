"""Model vendors without a name of their own in agents.json, and other names for those with one.

All of them speak OpenAI's API at the address given here.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from thinker.protocol.providers import PROVIDERS


class Vendor(NamedTuple):
    """Where a vendor's API is, and the variable that its own documentation names for the key."""

    base_url: str
    key_var: str | None = None


VENDORS: Mapping[str, Vendor] = MappingProxyType(
    {
        "cerebras": Vendor("https://api.cerebras.ai/v1", "CEREBRAS_API_KEY"),
        "cohere": Vendor("https://api.cohere.ai/compatibility/v1", "COHERE_API_KEY"),
        "deepseek": Vendor("https://api.deepseek.com/v1", "DEEPSEEK_API_KEY"),
        "fireworks": Vendor("https://api.fireworks.ai/inference/v1", "FIREWORKS_API_KEY"),
        "gemini": Vendor(
            "https://generativelanguage.googleapis.com/v1beta/openai", "GEMINI_API_KEY"
        ),
        "huggingface": Vendor("https://router.huggingface.co/v1", "HF_TOKEN"),
        "mistral": Vendor("https://api.mistral.ai/v1", "MISTRAL_API_KEY"),
        "moonshot": Vendor("https://api.moonshot.ai/v1", "MOONSHOT_API_KEY"),
        "nvidia": Vendor("https://integrate.api.nvidia.com/v1", "NVIDIA_API_KEY"),
        "perplexity": Vendor("https://api.perplexity.ai", "PERPLEXITY_API_KEY"),
        "qwen": Vendor(
            "https://dashscope-intl.aliyuncs.com/compatible-mode/v1", "DASHSCOPE_API_KEY"
        ),
        "together": Vendor("https://api.together.xyz/v1", "TOGETHER_API_KEY"),
        "xai": Vendor("https://api.x.ai/v1", "XAI_API_KEY"),
        "zai": Vendor("https://api.z.ai/api/paas/v4", "ZAI_API_KEY"),
        "llamacpp": Vendor("http://127.0.0.1:8080/v1"),
        "vllm": Vendor("http://127.0.0.1:8000/v1"),
    }
)
# Other names of vendors, and of providers that agents.json knows.
ALIASES: Mapping[str, str] = MappingProxyType(
    {
        "alibaba": "qwen",
        "chatgpt": "openai",
        "claude": "anthropic",
        "dashscope": "qwen",
        "glm": "zai",
        "google": "gemini",
        "gpt": "openai",
        "grok": "xai",
        "kimi": "moonshot",
        "zhipu": "zai",
    }
)


def named(text: str) -> str:
    """Return the provider or vendor that a person means, otherwise the text in small letters."""
    plain = "".join(char for char in text.lower() if char.isalnum())
    known = (*VENDORS, *ALIASES, *PROVIDERS)
    found = next((name for name in (plain, plain.removesuffix("ai")) if name in known), plain)
    return ALIASES.get(found, found)


def advice(text: str) -> str:
    """Return what to write in place of an unknown provider; nothing if it is no known vendor."""
    name = named(text)
    if name in PROVIDERS:
        return f'; did you mean "{name}"?'
    vendor = VENDORS.get(name)
    if vendor is None:
        return ""
    env = f' and "env": {{"OPENAI_API_KEY": "${{{vendor.key_var}}}"}}' if vendor.key_var else ""
    meant = f'did you mean "groq"? For {name} use' if text.lower() == "grok" else "use"
    return f'; {meant} "openai" with "baseUrl": "{vendor.base_url}"{env}'
