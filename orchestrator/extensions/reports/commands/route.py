"""``orchestrator route``."""

from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from enum import StrEnum
from typing import Annotated

import typer

from orchestrator.agentsfile import (
    AgentsFile,
    Binding,
    ChannelSettings,
    ChatChannel,
    LoadedConfig,
    load_agents_file,
)
from orchestrator.agentsfile.mounting import list_channel_names
from orchestrator.agentsfile.problems import format_path, suggest_name
from orchestrator.channel_api import NOT_ADDRESSED, ChatRole, InboundMessage
from orchestrator.cli.commands import make_command_group
from orchestrator.cli.direct_journal import load_moved_chats
from orchestrator.cli.options import (
    ChatWords,
    Config,
    Home,
    load_environment,
    load_settings,
    parse_chat,
)
from orchestrator.cli.output import print_text
from orchestrator.errors import JournalError, UnknownNameError
from orchestrator.inbound.admission import (
    FROM_BOT,
    Admission,
    AdmissionDecision,
    find_group_rule,
    judge_message,
)
from orchestrator.journal.access import pairing
from orchestrator.journal.opening import open_for_reading
from orchestrator.routing import ANY_CHAT, CHAT, THREAD, RoutedMessage, match_binding, score_binding
from orchestrator.settings import Settings

app = make_command_group("route")


class MessageFact(StrEnum):
    """A fact about a message."""

    GROUP = "group"
    MENTION = "mention"
    REPLY = "reply"
    BOT = "bot"


FACTS = (
    "A fact about the message: in a group, mentions the bot, replies to it, or is from a bot."
    " Repeat for more."
)


@app.command("explain")
def explain_route(
    name: ChatWords,
    *,
    thread: Annotated[str | None, typer.Option(help="Id of a thread in the chat.")] = None,
    facts: Annotated[list[MessageFact] | None, typer.Option("--is", help=FACTS)] = None,
    text: Annotated[str, typer.Option(help="Text of the message, for patterns.")] = "",
    sender: Annotated[str, typer.Option(help="Id of the sender.")] = "",
    config: Config = None,
    home: Home = None,
) -> None:
    """Show which binding of agents.json applies to a chat, and why.

    In a group, also show whether a message is for the bot, and by which rule.
    """
    chat, told = parse_chat(name), facts or ()
    settings = load_settings(home, config)
    moved = load_moved_chats(settings)
    loaded = load_agents_file(settings.find_agents_file(), load_environment(settings), moved)
    file = loaded.file
    known = list(dict.fromkeys((*list_channel_names(), *file.channels.list_sections())))
    if chat.channel not in known:
        hint = suggest_name(chat.channel, known, f"there are {', '.join(known)}")
        raise UnknownNameError(f"unknown channel {chat.channel!r}{hint}")
    section = file.channels.list_sections().get(chat.channel)
    if section is not None and section.routing_field:
        print_text(_explain_routed_entry(loaded, chat.channel, section, chat.chat_id))
        return
    first = moved.get(chat.channel, {}).get(chat.chat_id, chat.chat_id)
    message = InboundMessage(
        channel=chat.channel,
        bot_id="",
        chat_id=first,
        message_id="",
        sender_id=sender,
        text=text,
        thread_id=thread or chat.thread_id or None,
        private=_is_private(file, chat.channel, first, told),
        mentioned=MessageFact.MENTION in told,
        replied_to_bot=MessageFact.REPLY in told,
        from_bot=MessageFact.BOT in told,
    )
    guarded = file.channels.list_chat_channels().get(chat.channel)
    described = bool(told or text)
    for line in _explain_group_rules(message, guarded, described=described):
        print_text(line)
    for line in explain_routing(
        file.bindings, message, file.list_enabled_ids(), file.fallback_agent_id
    ):
        print_text(line)
    # For no particular message: only who may write counts.
    asked = message if described else replace(message, private=True)
    admission = judge_message(file, asked, _load_paired_chats(settings))
    if admission.verdict is not AdmissionDecision.ADMIT:
        print_text(_explain_refusal(admission, guarded, group=not message.private))
    if section is not None and not section.enabled:
        print_text(f"but the channel is off; see channels.{chat.channel} and: orchestrator check")


def _explain_routed_entry(
    loaded: LoadedConfig, channel: str, settings: ChannelSettings, name: str
) -> str:
    """Explain which agent gets messages that arrive by name, where no binding counts."""
    entries, field = settings.list_routed_entries(), settings.routing_field
    noun, place = settings.entry_nouns[field], ("channels", channel, field)
    if name not in entries and loaded.has_value_at((*place, name)):
        return f"refused: the {noun} '{name}' is off, because of an error; see: orchestrator check"
    if name not in entries:
        hint = suggest_name(name, entries, "add it there")
        raise UnknownNameError(f"unknown {noun} {name!r} in {format_path(place)}{hint}")
    agent_id = entries[name].agent_id
    named = f"agent '{agent_id}', which {format_path((*place, name))} names"
    usable = agent_id in loaded.file.list_enabled_ids()
    return f"answered by {named}" if usable else f"refused: {named}, is disabled or invalid"


def _is_private(
    file: AgentsFile, channel: str, chat_id: str, facts: Collection[MessageFact]
) -> bool:
    guarded = file.channels.list_chat_channels().get(channel)
    person = True if guarded is None else guarded.is_person(chat_id)
    if person and MessageFact.GROUP in facts:
        raise typer.BadParameter(
            f"{channel}:{chat_id} is a private chat, not a group", param_hint="--is"
        )
    return MessageFact.GROUP not in facts if person is None else person


def _explain_group_rules(
    message: InboundMessage, channel: ChatChannel | None, *, described: bool
) -> Iterator[str]:
    """Explain what the bot answers in the chat, and whether it answers this message."""
    if channel is None or message.private:
        if described:
            yield "in this chat every message is for the bot"
        return
    rules, place = (
        channel.groups.find_group_rules(message.chat_id),
        f"channels.{message.channel}.groups",
    )
    if message.chat_id in channel.groups.chats:
        place += f".chats.{message.chat_id}"
    every = "all" in rules.answer
    names = "all" if every else ", ".join([*rules.answer, *map(repr, rules.patterns)])
    yield f"in this group the bot answers: {names or 'nothing'} ({place})"
    rule = find_group_rule(message, channel.groups) if described and not message.from_bot else None
    if rule:
        yield f"this message is for the bot: {rule}"


def _explain_refusal(admission: Admission, channel: ChatChannel | None, *, group: bool) -> str:
    if channel is None:
        return f"but messages from there are ignored: {admission.reason}"
    if admission.reason in (FROM_BOT, NOT_ADDRESSED):
        return f"but this message is refused: {admission.reason}"
    others = "; only people who are admitted themselves are answered there"
    advice = others if group else ", see: orchestrator pair list"
    return f"but the chat is not admitted: {admission.reason}{advice}"


def explain_routing(
    bindings: Sequence[Binding],
    message: RoutedMessage,
    agents: frozenset[str],
    fallback: str | None,
) -> list[str]:
    """Describe the decision of `resolve_agent` in lines: each binding, then the outcome."""
    winner = match_binding(bindings, message)
    words = {THREAD: "names the thread", CHAT: "names the chat", ANY_CHAT: "any chat"}
    lines = []
    for binding in bindings:
        relation = words.get(score_binding(binding, message), "does not match")
        applies = ", applies" if binding is winner and not message.target else ""
        lines.append(f"binding {binding.place} -> {binding.agent_id}: {relation}{applies}")
    if message.target:
        lines.append(f"the message names agent '{message.target}' itself")
    elif winner is None:
        lines.append(f"no binding matches; fallbackAgentId: {fallback or 'not set'}")
    chosen = message.target or (winner.agent_id if winner is not None else fallback)
    if chosen is None:
        lines.append("refused: add a binding for this chat or set fallbackAgentId")
    elif chosen in agents:
        lines.append(f"answered by agent '{chosen}'")
    else:
        lines.append(f"refused: agent '{chosen}' is unknown, disabled or invalid")
    return lines


def _load_paired_chats(settings: Settings) -> dict[tuple[str, str], ChatRole]:
    """Return the roles of paired chats, by channel and id; none without a journal."""
    with suppress(JournalError), open_for_reading(settings.journal) as db:
        return pairing.load_roles(db)
    return {}
