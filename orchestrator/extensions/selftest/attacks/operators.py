"""Attacks on the operator's role: commands and approvals of people who are not operators."""

import re
from functools import partial

from orchestrator.extensions.selftest.attacks.attack_world import (
    CHANNEL,
    GROUP,
    OWNER,
    Attack,
    AttackWorld,
)
from orchestrator.testing.loopback import ForeignJson

_ROLES = "a role limits what a named person may do"
_FRESH = "a command counts in fresh words of its author"
_WHO = "only people whom the operator named command"
_CODE = re.compile(r"/approve (\w+)")


def _build_person(number: int, **fields: object) -> ForeignJson:
    return {"id": number, "is_bot": False, "first_name": "Eve", **fields}


def _build_chat(number: int, kind: str) -> ForeignJson:
    return {"id": number, "type": kind, "title": "Eve"}


_SPOOFS: dict[str, tuple[int, ForeignJson]] = {
    "a stranger": (6900, {}),
    "a stranger with the owner's name": (6901, {"from": _build_person(6901, username="owner")}),
    "a member of a bound group": (GROUP, {"from": _build_person(66)}),
    "an anonymous administrator": (
        GROUP,
        {"from": _build_person(1087968824), "sender_chat": _build_chat(GROUP, "supergroup")},
    ),
    "a bound channel in a group": (
        GROUP,
        {"from": _build_person(136817688), "sender_chat": _build_chat(CHANNEL, "channel")},
    ),
    "a bound channel's automatic forward": (
        GROUP,
        {
            "from": _build_person(777000),
            "sender_chat": _build_chat(CHANNEL, "channel"),
            "is_automatic_forward": True,
        },
    ),
    "a forwarded command": (
        6902,
        {"forward_origin": {"type": "user", "sender_user": _build_person(OWNER), "date": 1}},
    ),
}


# What the owner only passes on.
_REPEATED: dict[str, ForeignJson] = {
    "a command that the owner forwards": {
        "forward_origin": {"type": "user", "sender_user": _build_person(66), "date": 1}
    },
    "a command of an inline bot": {"via_bot": {**_build_person(67), "is_bot": True}},
}


async def _pause_agent(world: AttackWorld, chat: int, fields: ForeignJson) -> str:
    """Try to pause an agent."""
    text = f"/pause@{world.bot.bot['username']} guarded"
    length = text.index(" ")
    entities = [{"type": "bot_command", "offset": 0, "length": length}]
    await world.write_message(chat, text, entities=entities, **fields)
    paused = await world.is_agent_paused("guarded")
    if paused:
        await world.write_message(OWNER, "/resume guarded")
    return "the agent was paused" if paused else ""


async def _pause_as_bot(world: AttackWorld) -> str:
    """Let a bot write that has the owner's number at Telegram."""
    return await _pause_agent(world, GROUP, {"from": {**_build_person(OWNER), "is_bot": True}})


async def _ask_approval(world: AttackWorld) -> tuple[int, str, str]:
    """Let a call wait for approval; return its chat, its code and the text of its mail."""
    chat, number = world.take_chat("guarded"), world.make_order_id()
    shown = await world.use_tool(chat, "hx_mail", to="x", body=number)
    found = _CODE.search("\n".join(shown))
    if found is None:
        raise RuntimeError(f"no question was asked: {shown}")
    return chat, found[1], number


async def _approve_call(world: AttackWorld, chat: int, fields: ForeignJson) -> str:
    _, code, number = await _ask_approval(world)
    await world.write_message(chat, f"/approve {code}", **fields)
    return "the call was approved" if world.list_mails(number) else ""


async def _approve_as_guest(world: AttackWorld) -> str:
    """Let a person who may only talk approve a call of the own chat, whose code has leaked."""
    chat, number = next(world.guests), world.make_order_id()
    await world.use_tool(chat, "hx_mail", to="x", body=number)
    ((code,),) = world.query_rows("SELECT code FROM approval ORDER BY id DESC LIMIT 1")
    await world.write_message(chat, f"/approve {code}")
    reached = "a guest approved the own call" if world.list_mails(number) else ""
    await world.deny_all()
    return reached


async def _pause_as_guest(world: AttackWorld) -> str:
    """Let a person who may only talk, but is bound by name, pause an agent."""
    return await _pause_agent(world, next(world.guests), {})


async def _pause_by_edit(world: AttackWorld) -> str:
    """Let the owner correct an old message into a command."""
    message = {"message_id": 1, "date": 1, "edit_date": 2, "text": "/pause guarded"}
    person = {"from": _build_person(OWNER), "chat": {"id": OWNER, "type": "private"}}
    world.bot.queue_update({"edited_message": {**message, **person}})
    await world.wait_until_settled(OWNER)
    paused = await world.is_agent_paused("guarded")
    if paused:
        await world.write_message(OWNER, "/resume guarded")
    return "the agent was paused" if paused else ""


async def _reuse_approval(world: AttackWorld) -> str:
    """Use one approval for two calls."""
    chat, code, number = await _ask_approval(world)
    await world.write_message(chat, f"/approve {code}")
    await world.use_tool(chat, "hx_mail", to="x", body=number)
    await world.write_message(chat, f"/approve {code}")
    return "one approval ran two calls" if len(world.list_mails(number)) > 1 else ""


ATTACKS = (
    *(
        Attack(f"{who} pauses an agent", _WHO, partial(_pause_agent, chat=chat, fields=fields))
        for who, (chat, fields) in _SPOOFS.items()
    ),
    *(
        Attack(f"{what} pauses an agent", _FRESH, partial(_pause_agent, chat=OWNER, fields=fields))
        for what, fields in _REPEATED.items()
    ),
    Attack("an edited message pauses an agent", _FRESH, _pause_by_edit),
    Attack("a guest approves the own call", _ROLES, _approve_as_guest),
    Attack("a guest pauses an agent", _ROLES, _pause_as_guest),
    Attack("another bot pauses an agent", "bots get no answer", _pause_as_bot),
    *(
        Attack(f"{who} approves a call", _WHO, partial(_approve_call, chat=chat, fields=fields))
        for who, (chat, fields) in _SPOOFS.items()
        if chat > 0
    ),
    Attack("an approval is used twice", "approvals are single use", _reuse_approval),
)
