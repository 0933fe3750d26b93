"""Check webhooks: the agents and chats that they name, and weak settings."""

from orchestrator.agentsfile.draft import Draft
from orchestrator.agentsfile.missing_extensions import explain_entry_extension
from orchestrator.agentsfile.named_chats import check_named_channel, check_named_id
from orchestrator.agentsfile.plain_addresses import find_plain_host
from orchestrator.agentsfile.positions import JsonPath
from orchestrator.agentsfile.problems import suggest_name
from orchestrator.extensions.webhooks.hook_settings import HookChannel, IncomingHook, OutgoingHook
from thinker.protocol.names import ChatName

CHANNEL = "hook"
INCOMING: JsonPath = ("channels", CHANNEL, "incoming")
OUTGOING: JsonPath = ("channels", CHANNEL, "outgoing")
RESERVED = ("id", "hook")  # fields of the body
SHORT = 16  # characters; a shorter secret can be guessed
OF_STRANGERS = (
    "{what} brings text of strangers to agent '{agent}', which has one memory for all chats; remove"
    ' "memory" of the agent'
)


def check_hooks(draft: Draft) -> None:
    """Report webhooks of unknown agents, and warn about settings without effect."""
    hooks, declared = draft.channels.get_settings(HookChannel), draft.list_declared_ids()
    usable = {}
    for name, hook in hooks.incoming.items():
        if hook.agent_id in declared:
            usable[name] = hook
            _check_incoming(draft, name, hook)
        else:
            draft.add_error(
                (*INCOMING, name, "agentId"),
                f"webhook '{name}' names the unknown agent '{hook.agent_id}'"
                + suggest_name(hook.agent_id, declared, "add this agent or remove the webhook"),
            )
    if len(usable) < len(hooks.incoming):
        draft.replace_channel(CHANNEL, hooks.model_copy(update={"incoming": usable}))
    if hooks.enabled and hooks.incoming:
        _check_endpoints(draft)
    for name, sent in hooks.outgoing.items():
        _check_outgoing(draft, name, sent)
    _check_alert_targets(draft)
    for number, binding in draft.bindings.items():
        if binding.channel == CHANNEL:
            draft.add_warning(
                ("bindings", number),
                f"binding {binding.place} has no effect, as each webhook names its agent in"
                " channels.hook.incoming; remove it",
            )


def _check_endpoints(draft: Draft) -> None:
    """Warn if no endpoint receives webhooks."""
    missing = explain_entry_extension("channels", "api")
    if missing:
        draft.add_warning(INCOMING, f"webhooks are off: channels.api {missing}")
    elif not draft.channels.is_on("api") and "api" not in draft.wrong_channels:
        draft.add_warning(
            ("channels", "api", "enabled"),
            "channel 'api' is off, so webhooks are off, too; set \"enabled\": true or remove"
            " channels.hook.incoming",
        )


def _check_alert_targets(draft: Draft) -> None:
    for number, agent in draft.agents.items():
        controls = agent.cost_controls
        if controls is not None and controls.notify_channel == CHANNEL:
            at: JsonPath = ("agents", number, "costControls", "notifyChatId")
            _check_target(draft, at, f"agent '{agent.agent_id}'", controls.notify_chat_id)


def _check_incoming(draft: Draft, name: str, hook: IncomingHook) -> None:
    at, what = (*INCOMING, name), f"webhook '{name}'"
    agent = next((a for a in draft.agents.values() if a.agent_id == hook.agent_id), None)
    if agent is not None and not agent.enabled:
        draft.add_warning(
            (*at, "agentId"), f"{what} leads to the disabled agent '{hook.agent_id}': it refuses"
        )
    if agent is not None and agent.memory == "agent":
        draft.add_warning((*at, "agentId"), OF_STRANGERS.format(what=what, agent=hook.agent_id))
    _check_secret(draft, (*at, "secret"), what, hook.secret)
    if hook.notify_chat is not None:
        chat = ChatName.parse(hook.notify_chat)
        if chat.channel == CHANNEL:
            _check_target(draft, (*at, "notifyChat"), what, chat.chat_id)
        check_named_channel(draft, (*at, "notifyChat"), f"{what} answers to", chat.channel)
        check_named_id(draft, (*at, "notifyChat"), chat.channel, chat.chat_id)


def _check_outgoing(draft: Draft, name: str, hook: OutgoingHook) -> None:
    at, what = (*OUTGOING, name), f"webhook '{name}'"
    if hook.secret is not None:
        _check_secret(draft, (*at, "secret"), what, hook.secret)
    elif "signature" in hook.model_fields_set:
        draft.add_warning(
            (*at, "signature"), f'{what} signs nothing without a "secret"; set one or remove this'
        )
    host = find_plain_host(hook.url)
    if host is not None:
        draft.add_warning(
            (*at, "url"), f"{what} sends what agents say unencrypted to {host}; use https"
        )
    if hook.text_field in RESERVED:
        draft.add_warning(
            (*at, "textField"), f'{what} has no text, as "{hook.text_field}" has another meaning'
        )


def _check_secret(draft: Draft, at: JsonPath, what: str, secret: str) -> None:
    if len(secret) < SHORT:
        draft.add_warning(
            at, f"{what} has a secret that can be guessed; make one with: openssl rand -hex 32"
        )


def _check_target(draft: Draft, at: JsonPath, what: str, name: str | None) -> None:
    known = draft.channels.get_settings(HookChannel).outgoing
    wrong = (*OUTGOING, name or "") in draft.left_out  # which has a message of its own
    if name is not None and name not in known and not wrong:
        draft.add_warning(
            at,
            f"{what} names the webhook '{name}', which is not in channels.hook.outgoing"
            + suggest_name(name, known, "add it there"),
        )
