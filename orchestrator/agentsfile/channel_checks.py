"""Checks of what joins agents to the world: channels, the order of bindings, keys of models."""

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path

from orchestrator.agentsfile.agent_definition import AgentDefinition
from orchestrator.agentsfile.agents_file import Binding
from orchestrator.agentsfile.draft import Draft
from orchestrator.agentsfile.positions import JsonPath
from orchestrator.agentsfile.provider_names import ALIASES
from thinker.protocol.providers import split_reference

TOKEN = "TELEGRAM_BOT_TOKEN"  # noqa: S105 - a variable's name
SIMILAR = 0.8  # of two names, so that a vendor's is not taken for a provider's
AN_ADDRESS = "https://NAME.openai.azure.com"
KEYS_FILE = "keys.env"  # in the home


def check_order(draft: Draft) -> None:
    """Warn where the first matching binding and the most specific one name different agents."""
    bindings = list(draft.bindings.items())
    for place, (number, binding) in enumerate(bindings):
        for earlier, broader in bindings[:place]:
            if broader.agent_id != binding.agent_id and _covers(broader, binding):
                draft.warn(
                    ("bindings", number),
                    f"binding {binding.place} beats {broader.place} in line"
                    f" {draft.line('bindings', earlier)}, because the most specific one applies and"
                    f" not the first: '{binding.agent_id}' answers it, not '{broader.agent_id}';"
                    " move it before that line to make this plain",
                )
                break


def _covers(broader: Binding, binding: Binding) -> bool:
    """Return whether every message of one binding would match another, broader one."""
    if broader.channel != binding.channel or broader.thread_id is not None:
        return False
    if broader.chat_id == "*":
        return binding.chat_id != "*"
    return broader.chat_id == binding.chat_id and binding.thread_id is not None


def check_channels(draft: Draft, environ: Mapping[str, str] | None, home: Path | None) -> None:
    """Warn of bindings to a channel that is off, and of a Telegram bot that nothing answers.

    A channel with an error has its own message.
    ``environ`` is where the token is looked up; None skips that.
    """
    bound: dict[str, int] = {}
    for number, binding in draft.bindings.items():
        bound.setdefault(binding.channel, number)
    for name, channel in draft.channels:
        if name in bound and not channel.enabled and name not in draft.wrong_channels:
            draft.warn(
                ("channels", name, "enabled"),
                f"channel '{name}' is off, so no message comes by the binding in line"
                f' {draft.line("bindings", bound[name])}; set "enabled": true or remove that',
            )
    if environ is None or not draft.channels.telegram.enabled:
        return
    if "telegram" in bound and not environ.get(TOKEN):
        draft.warn(
            ("bindings", bound["telegram"]),
            f"no message comes from Telegram, because {TOKEN} is not set; {_put(TOKEN, home)} and"
            " restart the daemon",
        )
    value = draft.document.value  # a fallback that is left out has its own message
    fallback = isinstance(value, dict) and value.get("fallbackAgentId")
    if environ.get(TOKEN) and "telegram" not in bound and not fallback:
        draft.warn(
            ("bindings",),
            f"{TOKEN} is set, but no binding leads from Telegram to an agent, so every message is"
            ' refused; add { "channel": "telegram", "chatId": "*", "agentId": "…" }',
        )


def check_addresses(draft: Draft) -> None:
    """Leave out each agent whose provider has no address; warn of other models without one."""
    for number, agent in list(draft.agents.items()):
        for field, provider in _providers(agent):
            known = agent.providers.get(provider)
            if known is None or known.base_url or known.wire == "demo":
                continue
            place, name = ("agents", number, *field), ".".join(map(str, field))
            message = (
                f"agent '{agent.agent_id}': \"{name}\" names {provider}, which has no address of"
                f' its own; set "providers": {{ "{provider}": {{ "baseUrl": "{AN_ADDRESS}" }} }}'
            )
            if name == "llmProvider":
                draft.error(place, f'{message}, or "baseUrl" in the agent', agent.agent_id)
                draft.agents.pop(number, None)
            else:
                draft.warn(place, message, agent.agent_id)


def check_keys(draft: Draft, environ: Mapping[str, str], home: Path | None) -> None:
    """Warn of each agent whose model's key is not set."""
    for number, agent in draft.agents.items():
        if not agent.enabled:
            continue
        for field, provider in _providers(agent):
            known = agent.providers.get(provider)
            key = None if known is None else known.key_var
            if key is not None and not (environ.get(key) or agent.env.get(key)):
                name = ".".join(map(str, field))
                use = "cannot answer" if name == "llmProvider" else f'cannot use its "{name}"'
                draft.warn(
                    ("agents", number, *field),
                    f"agent '{agent.agent_id}' {use}, because {key} is not set; {_put(key, home)}"
                    " and run: orchestrator reload",
                    agent.agent_id,
                )


def check_prefixes(draft: Draft) -> None:
    """Warn of fallback and small models whose text before "/" is nearly a provider's name.

    Such a text counts as part of the model's name, as those of vendors do.
    """
    for number, agent in draft.agents.items():
        small = (agent.small_model,) if agent.small_model else ()
        usual, own = {*agent.providers, *ALIASES}, agent.providers.get(agent.llm_provider)
        vendors = own.vendors if own else ()
        for field, models in (("fallbackModels", agent.fallback_models), ("smallModel", small)):
            for model in models:
                prefix, slash, _ = model.partition("/")
                near = get_close_matches(prefix.lower(), agent.providers, n=1, cutoff=SIMILAR)
                if slash and near and prefix not in usual and near[0] not in vendors:
                    draft.warn(
                        ("agents", number, field),
                        f"agent '{agent.agent_id}' takes \"{model}\" for a model of"
                        f' {agent.llm_provider}; did you mean the provider "{near[0]}"?',
                        agent.agent_id,
                    )


def _providers(agent: AgentDefinition) -> Iterator[tuple[JsonPath, str]]:
    """Yield the providers that need a key, each with the field that names it."""
    if not agent.base_url:
        yield ("llmProvider",), agent.llm_provider
    own = agent.llm_provider
    others = [("fallbackModels", model) for model in agent.fallback_models]
    others += [("smallModel", agent.small_model)] if agent.small_model else []
    for field, model in others:
        provider, _ = split_reference(model, own, agent.providers)
        if provider != own:
            yield (field,), provider
    for path, served in agent.served:
        if not served.base_url:
            yield path, served.provider or ""


def _put(name: str, home: Path | None) -> str:
    """Say where a key belongs."""
    return f"put {name}=… into {KEYS_FILE if home is None else home / KEYS_FILE}"
