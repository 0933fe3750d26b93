"""``orchestrator route``."""

from collections.abc import Collection, Iterator
from dataclasses import replace
from enum import StrEnum
from typing import Annotated

import typer

from orchestrator.agentsfile import AgentsFile, Channels, ChatChannel, LoadedConfig, load
from orchestrator.agentsfile.channel_kinds import channel_kinds
from orchestrator.agentsfile.hook_checks import CHANNEL as HOOK
from orchestrator.agentsfile.hook_checks import INCOMING
from orchestrator.agentsfile.problems import field_names, suggestion
from orchestrator.channel_api import NOT_ADDRESSED, InboundMessage
from orchestrator.cli._direct_journal import moved_chats, paired_chats
from orchestrator.cli._options import (
    ChatWords,
    Config,
    Home,
    chat_named,
    command_group,
    environment,
    load_settings,
)
from orchestrator.cli._prose import say
from orchestrator.errors import UnknownNameError
from orchestrator.inbound.admission import (
    FROM_BOT,
    Admission,
    AdmissionDecision,
    group_rule,
    judge,
)
from orchestrator.routing import explain

app = command_group("route")


class MessageFact(StrEnum):
    """What may be true of a message."""

    GROUP = "group"
    MENTION = "mention"
    REPLY = "reply"
    BOT = "bot"


FACTS = (
    "What is true of the message: in a group (where the id does not tell), a mention of the bot,"
    " a reply to it, by another bot. Repeat it for more."
)


@app.command("explain")
def explain_route(
    name: ChatWords,
    *,
    thread: Annotated[str | None, typer.Option(help="Id of a thread in the chat.")] = None,
    facts: Annotated[list[MessageFact] | None, typer.Option("--is", help=FACTS)] = None,
    text: Annotated[str, typer.Option(help="What the message says, for patterns.")] = "",
    sender: Annotated[str, typer.Option(help="Id of the person who writes.")] = "",
    config: Config = None,
    home: Home = None,
) -> None:
    """Show which binding of agents.json applies to a chat, and why.

    In a group, also whether a message is for the bot, and by which rule.
    """
    chat, told = chat_named(name), facts or ()
    settings = load_settings(home, config)
    moved = moved_chats(settings)
    loaded = load(settings.agents_file(), environment(settings), moved)
    file = loaded.file
    known = (*field_names(Channels), *channel_kinds())
    if chat.channel not in known:
        hint = suggestion(chat.channel, known, f"there are {', '.join(known)}")
        raise UnknownNameError(f"there is no channel {chat.channel!r}{hint}")
    if chat.channel == HOOK:
        say(_of_webhook(loaded, chat.chat_id))
        return
    first = moved.get(chat.chat_id, chat.chat_id) if chat.channel == "telegram" else chat.chat_id
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
    guarded = file.channels.guarded().get(chat.channel)
    described = bool(told or text)
    for line in _for_the_bot(message, guarded, described=described):
        say(line)
    for line in explain(file.bindings, message, file.usable(), file.fallback_agent_id):
        say(line)
    # Of no message in particular: only who may write counts.
    asked = message if described else replace(message, private=True)
    admission = judge(file, asked, paired_chats(settings))
    if admission.verdict is not AdmissionDecision.ADMIT:
        say(_refusal(admission, guarded, group=not message.private))
    section = dict(file.channels).get(chat.channel)
    if section is not None and not section.enabled:
        say(f"but the channel is off; see channels.{chat.channel} and: orchestrator check")


def _of_webhook(loaded: LoadedConfig, name: str) -> str:
    """Say which agent gets what comes in by a webhook; no binding counts for it."""
    file = loaded.file
    hooks = file.channels.hook.incoming
    if name not in hooks and loaded.states((*INCOMING, name)):
        return f"refused: the webhook '{name}' is off, because of an error; see: orchestrator check"
    if name not in hooks:
        hint = suggestion(name, hooks, "add it there")
        raise UnknownNameError(f"there is no webhook {name!r} in channels.hook.incoming{hint}")
    agent_id = hooks[name].agent_id
    named = f"agent '{agent_id}', which channels.hook.incoming.{name} names"
    usable = agent_id in file.usable()
    return f"answered by {named}" if usable else f"refused: {named}, is disabled or invalid"


def _is_private(
    file: AgentsFile, channel: str, chat_id: str, facts: Collection[MessageFact]
) -> bool:
    guarded = file.channels.guarded().get(channel)
    person = True if guarded is None else guarded.is_person(chat_id)
    if person and MessageFact.GROUP in facts:
        raise typer.BadParameter(
            f"{channel}:{chat_id} is no group, but a private chat", param_hint="--is"
        )
    return MessageFact.GROUP not in facts if person is None else person


def _for_the_bot(
    message: InboundMessage, channel: ChatChannel | None, *, described: bool
) -> Iterator[str]:
    """Say what the bot answers in the chat, and by which rule this message."""
    if channel is None or message.private:
        if described:
            yield "in this chat every message is for the bot"
        return
    rules, place = channel.groups.of(message.chat_id), f"channels.{message.channel}.groups"
    if message.chat_id in channel.groups.chats:
        place += f".chats.{message.chat_id}"
    every = "all" in rules.answer
    names = "all" if every else ", ".join([*rules.answer, *map(repr, rules.patterns)])
    yield f"in this group the bot answers: {names or 'nothing'} ({place})"
    rule = group_rule(message, channel.groups) if described and not message.from_bot else None
    if rule:
        yield f"this message is for the bot: {rule}"


def _refusal(admission: Admission, channel: ChatChannel | None, *, group: bool) -> str:
    if channel is None:
        return f"but no message comes from there: {admission.reason}"
    if admission.reason in (FROM_BOT, NOT_ADDRESSED):
        return f"but this message is refused: {admission.reason}"
    others = "; only people who are admitted themselves are answered there"
    advice = others if group else ", see: orchestrator pair list"
    return f"but the chat is not admitted: {admission.reason}{advice}"
