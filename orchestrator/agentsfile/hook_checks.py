"""Checks of webhooks and alerts: agents and chats that they name, and what weakens them."""

from collections.abc import Set as AbstractSet

from orchestrator.agentsfile.agents_file import Channels
from orchestrator.agentsfile.channel_kinds import channel_kinds
from orchestrator.agentsfile.chat_ids import no_chat
from orchestrator.agentsfile.draft import Draft
from orchestrator.agentsfile.hook_settings import IncomingHook, OutgoingHook
from orchestrator.agentsfile.plain_addresses import plain_host
from orchestrator.agentsfile.positions import JsonPath
from orchestrator.agentsfile.problems import field_names, suggestion
from thinker.protocol.names import ChatName

CHANNEL = "hook"
INCOMING: JsonPath = ("channels", CHANNEL, "incoming")
OUTGOING: JsonPath = ("channels", CHANNEL, "outgoing")
RESERVED = ("id", "hook")  # fields of the body
SHORT = 16  # characters; a shorter secret can be found by trying
OF_STRANGERS = (
    "{what} brings text of strangers to agent '{agent}', which has one memory for all chats; remove"
    ' "memory" of the agent'
)


def check_hooks(draft: Draft, declared: AbstractSet[str]) -> None:
    """Report hooks of agents that are not ``declared``, and warn of settings without effect."""
    hooks = draft.channels.hook
    usable = {}
    for name, hook in hooks.incoming.items():
        if hook.agent_id in declared:
            usable[name] = hook
            _check_incoming(draft, name, hook)
        else:
            draft.error(
                (*INCOMING, name, "agentId"),
                f"webhook '{name}' names the unknown agent '{hook.agent_id}'"
                + suggestion(hook.agent_id, declared, "add this agent or remove the webhook"),
            )
    if len(usable) < len(hooks.incoming):
        kept = hooks.model_copy(update={"incoming": usable})
        draft.channels = draft.channels.model_copy(update={CHANNEL: kept})
    api_off = not draft.channels.api.enabled and "api" not in draft.wrong_channels
    if hooks.enabled and hooks.incoming and api_off:
        draft.warn(
            ("channels", "api", "enabled"),
            "channel 'api' is off, so no webhook comes in; set \"enabled\": true or remove"
            " channels.hook.incoming",
        )
    for name, sent in hooks.outgoing.items():
        _check_outgoing(draft, name, sent)
    _check_alerts(draft)
    for number, binding in draft.bindings.items():
        if binding.channel == CHANNEL:
            draft.warn(
                ("bindings", number),
                f"binding {binding.place} has no effect, as each webhook names its agent in"
                " channels.hook.incoming; remove it",
            )


def _check_alerts(draft: Draft) -> None:
    for number, agent in draft.agents.items():
        controls, what = agent.cost_controls, f"agent '{agent.agent_id}'"
        place: JsonPath = ("agents", number, "costControls")
        if controls is not None:
            channel = controls.notify_channel or ""
            _check_channel(draft, (*place, "notifyChannel"), f"{what} sends alerts to", channel)
            _check_id(draft, (*place, "notifyChatId"), channel, controls.notify_chat_id)
        if controls is not None and controls.notify_channel == CHANNEL:
            _check_target(draft, (*place, "notifyChatId"), what, controls.notify_chat_id)


def _check_incoming(draft: Draft, name: str, hook: IncomingHook) -> None:
    at, what = (*INCOMING, name), f"webhook '{name}'"
    agent = next((a for a in draft.agents.values() if a.agent_id == hook.agent_id), None)
    if agent is not None and not agent.enabled:
        draft.warn(
            (*at, "agentId"), f"{what} leads to the disabled agent '{hook.agent_id}': it refuses"
        )
    if agent is not None and agent.memory == "agent":
        draft.warn((*at, "agentId"), OF_STRANGERS.format(what=what, agent=hook.agent_id))
    _check_secret(draft, (*at, "secret"), what, hook.secret)
    if hook.notify_chat is not None:
        chat = ChatName.parse(hook.notify_chat)
        if chat.channel == CHANNEL:
            _check_target(draft, (*at, "notifyChat"), what, chat.chat_id)
        _check_channel(draft, (*at, "notifyChat"), f"{what} answers to", chat.channel)
        _check_id(draft, (*at, "notifyChat"), chat.channel, chat.chat_id)


def _check_outgoing(draft: Draft, name: str, hook: OutgoingHook) -> None:
    at, what = (*OUTGOING, name), f"webhook '{name}'"
    if hook.secret is not None:
        _check_secret(draft, (*at, "secret"), what, hook.secret)
    elif "signature" in hook.model_fields_set:
        draft.warn(
            (*at, "signature"), f'{what} signs nothing without a "secret"; set one or remove this'
        )
    host = plain_host(hook.url)
    if host is not None:
        draft.warn((*at, "url"), f"{what} sends what agents say unencrypted to {host}; use https")
    if hook.text_field in RESERVED:
        draft.warn(
            (*at, "textField"), f'{what} loses its text, as "{hook.text_field}" has another meaning'
        )


def _check_secret(draft: Draft, at: JsonPath, what: str, secret: str) -> None:
    if len(secret) < SHORT:
        draft.warn(
            at, f"{what} has a secret that can be guessed; make one with: openssl rand -hex 32"
        )


def _check_channel(draft: Draft, at: JsonPath, what: str, channel: str) -> None:
    """Warn of a channel that is not there; an empty name says nothing."""
    own = [name for name in field_names(Channels) if name != "api"]
    known = [*own, *channel_kinds()]
    if channel and channel not in known:
        draft.warn(at, f'{what} the unknown channel "{channel}"' + suggestion(channel, known))
    elif channel and channel not in own and channel not in draft.channels.hosted:
        draft.warn(at, f"{what} {channel}, but there is no channels.{channel}; add it")


def _check_id(draft: Draft, at: JsonPath, channel: str, chat_id: str | None) -> None:
    reason = None if chat_id is None else no_chat(channel, chat_id, written_to=True)
    if reason is not None:
        draft.warn(at, reason)


def _check_target(draft: Draft, at: JsonPath, what: str, name: str | None) -> None:
    known = draft.channels.hook.outgoing
    wrong = (*OUTGOING, name or "") in draft.left_out  # which has a message of its own
    if name is not None and name not in known and not wrong:
        draft.warn(
            at,
            f"{what} tells the webhook '{name}', which is not in channels.hook.outgoing"
            + suggestion(name, known, "add it there"),
        )
