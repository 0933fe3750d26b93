"""The providers that an agent can name, with the needs and abilities of each.

`providers.json` has one entry per provider; agents.json may add providers of its own. The
supervisor uses them to choose a provider and pass on exactly one key; the worker uses them to reach
the provider.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

FILE = Path(__file__).with_suffix(".json")

Ability: TypeAlias = Literal[
    "tools",
    "images",
    "schema",
    "json",
    "caching",
    "embeddings",
    "transcription",
    "speech",
    "drawing",
]
BlankContent: TypeAlias = Literal["null", "empty", "absent"]
ReturnScope: TypeAlias = Literal["calls", "turn", "always", "never"]
ABILITIES: tuple[Ability, ...] = get_args(Ability)


@dataclass(frozen=True)
class RequestRules:
    """How requests to a provider differ from those to OpenAI.

    ``omits`` are fields that the provider refuses; ``length_field`` limits an answer.
    ``tool_choice`` renames modes; an empty name leaves the field out. Identifiers of tool calls are
    sent with ``call_id_length`` letters and digits if that is set, each call with ``call_extra``
    unless it came with extra fields, and schemas of tools at ``schema_rank``.
    ``checks_arguments``: the server rejects ``"5"`` for a number, so schemas are relaxed for it.
    ``cache_key``: the server accepts a ``prompt_cache_key``; ``cache_marks``: marks of where a
    cached prompt ends; ``cache_header`` names the header of a conversation.
    ``output_beside_tools``: its models still call tools when a schema of the answer is sent.

    ``send_back`` says with which messages the fields go back that came with them, ``back_fill``
    what stands for missing ones, and ``think_tags`` that reasoning goes back in the text.
    ``content_when_calls`` is the content of a message that has only calls. ``note_after_tool``: no
    user message may follow a tool's result. ``joined``: roles must alternate, the user's first.
    ``effort`` maps levels of effort to fields of a request, null where a model has no such level;
    ``adds`` are fields of every request, ``adds_whole`` of those for an answer in one piece.
    ``names_results``: results of tools have the tool's name.
    """

    omits: tuple[str, ...] = ()
    length_field: str = "max_tokens"
    tool_choice: Mapping[str, str] = field(default_factory=dict)
    call_id_length: int = 0
    call_extra: Mapping[str, Any] = field(default_factory=dict)
    schema_rank: int = 0
    send_back: ReturnScope = "calls"
    back_fill: Mapping[str, Any] = field(default_factory=dict)
    think_tags: bool = False
    content_when_calls: BlankContent = "null"
    note_after_tool: bool = False
    joined: bool = False
    effort: Mapping[str, Any] = field(default_factory=dict)
    adds: Mapping[str, Any] = field(default_factory=dict)
    adds_whole: Mapping[str, Any] = field(default_factory=dict)
    names_results: bool = False
    checks_arguments: bool = False
    cache_key: bool = False
    cache_marks: bool = False
    cache_header: str = ""
    output_beside_tools: bool = False


@dataclass(frozen=True)
class Provider:
    """One provider: wire format, address, variables, and what its models can do.

    ``model_var`` is the environment variable that holds the model. ``default_model`` applies only
    to ``"llmProvider": "auto"``; if empty, a local server is queried for its models, and another
    provider is not chosen. ``aliases`` are other names that people use. Without a ``key_header``
    the key is a bearer token. ``deployments``: the model is part of the address, as is
    ``api_version``. ``vendors`` are names of other providers that may begin names of its models.
    ``priced_as`` is its name in the price table, ``can`` the abilities of its best model.
    ``context_tokens`` is the window of its models, if the operator states it.
    ``timeouts`` replace deadlines of `thinker.models.endpoint.ModelTimeouts`, in seconds.
    """

    name: str
    wire: Literal["openai", "anthropic", "demo"] = "openai"
    base_url: str = ""
    key_var: str | None = None
    model_var: str = "THINKER_MODEL"
    default_model: str = ""
    local: bool = False
    title: str = ""
    aliases: tuple[str, ...] = ()
    key_header: str = ""
    api_version: str = ""
    deployments: bool = False
    vendors: tuple[str, ...] = ()
    priced_as: str = ""
    can: tuple[Ability, ...] = ("tools", "images", "schema", "embeddings")
    requests: RequestRules = RequestRules()
    timeouts: Mapping[str, float] = field(default_factory=dict)
    context_tokens: int = 0


CUSTOM = "custom"  # provider name of a server that only has an address


def _build_provider(name: str, facts: Mapping[str, Any]) -> Provider:
    rules = _convert_lists(facts.get("requests", {}))
    return Provider(name, **{**_convert_lists(facts), "requests": RequestRules(**rules)})


def _convert_lists(facts: Mapping[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in facts.items()}


PROVIDERS: dict[str, Provider] = {
    name: _build_provider(name, facts) for name, facts in json.loads(FILE.read_bytes()).items()
}


def list_key_variables(known: Mapping[str, Provider] = PROVIDERS) -> frozenset[str]:
    """Return the names of the variables that hold keys of providers."""
    return frozenset(p.key_var for p in known.values() if p.key_var is not None)


def split_reference(
    entry: str, own: str, known: Mapping[str, Provider] = PROVIDERS
) -> tuple[str, str]:
    """Split ``provider/model``; without a known provider, return ``own`` and the whole entry.

    Some providers' models have names that begin with other providers' names, such as
    ``deepseek/deepseek-chat`` at OpenRouter.
    """
    provider, slash, model = entry.partition("/")
    mine = known.get(own)
    if slash and provider in known and not (mine and provider in mine.vendors):
        return provider, model
    return own, entry


def relocate_provider(provider: Provider, url: str) -> Provider:
    """Return a provider with the rules of the server at another address.

    The server of another known provider has that provider's rules. Any other server may refuse
    fields that only the provider's own server knows.
    """
    if not provider.base_url or url.rstrip("/") == provider.base_url:
        return provider
    there = next((p for p in PROVIDERS.values() if p.base_url == url.rstrip("/")), None)
    if there is not None and there.wire == provider.wire:
        return replace(provider, can=there.can, requests=there.requests)
    rules = replace(provider.requests, cache_key=False, output_beside_tools=False)
    return replace(provider, requests=rules)
