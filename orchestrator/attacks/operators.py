"""Attacks on the operator's place: commands and approvals of people who are no operators."""

import re
from functools import partial

from orchestrator.attacks.attack_world import CHANNEL, GROUP, OWNER, Attack, AttackWorld
from orchestrator.selftest.loopback import ForeignJson

_WHO = "only people whom the operator named command"
_CODE = re.compile(r"/approve (\w+)")


def _person(number: int, **fields: object) -> ForeignJson:
    return {"id": number, "is_bot": False, "first_name": "Eve", **fields}


def _chat(number: int, kind: str) -> ForeignJson:
    return {"id": number, "type": kind, "title": "Eve"}


_SPOOFS: dict[str, tuple[int, ForeignJson]] = {
    "a stranger": (6900, {}),
    "a stranger with the owner's name": (6901, {"from": _person(6901, username="owner")}),
    "a member of a bound group": (GROUP, {"from": _person(66)}),
    "an anonymous administrator": (
        GROUP,
        {"from": _person(1087968824), "sender_chat": _chat(GROUP, "supergroup")},
    ),
    "a bound channel in a group": (
        GROUP,
        {"from": _person(136817688), "sender_chat": _chat(CHANNEL, "channel")},
    ),
    "a bound channel's automatic forward": (
        GROUP,
        {
            "from": _person(777000),
            "sender_chat": _chat(CHANNEL, "channel"),
            "is_automatic_forward": True,
        },
    ),
    "a forwarded command": (
        6902,
        {"forward_origin": {"type": "user", "sender_user": _person(OWNER), "date": 1}},
    ),
}


async def _pauses(world: AttackWorld, chat: int, fields: ForeignJson) -> str:
    """Try to pause an agent."""
    text = f"/pause@{world.bot.bot['username']} guarded"
    length = text.index(" ")
    entities = [{"type": "bot_command", "offset": 0, "length": length}]
    await world.say(chat, text, entities=entities, **fields)
    paused = await world.paused("guarded")
    if paused:
        await world.say(OWNER, "/resume guarded")
    return "the agent was paused" if paused else ""


async def _bot_pauses(world: AttackWorld) -> str:
    """Let a bot write that Telegram numbers as it does the owner."""
    return await _pauses(world, GROUP, {"from": {**_person(OWNER), "is_bot": True}})


async def _question(world: AttackWorld) -> tuple[int, str, str]:
    """Let a call wait for approval; return its chat, its code and what its mail says."""
    chat, number = world.chat("guarded"), world.number()
    shown = await world.use(chat, "hx_mail", to="x", body=number)
    found = _CODE.search("\n".join(shown))
    if found is None:
        raise RuntimeError(f"no question was asked: {shown}")
    return chat, found[1], number


async def _approves(world: AttackWorld, chat: int, fields: ForeignJson) -> str:
    _, code, number = await _question(world)
    await world.say(chat, f"/approve {code}", **fields)
    return "the call was approved" if world.mails(number) else ""


async def _twice(world: AttackWorld) -> str:
    """Use one approval for two calls."""
    chat, code, number = await _question(world)
    await world.say(chat, f"/approve {code}")
    await world.use(chat, "hx_mail", to="x", body=number)
    await world.say(chat, f"/approve {code}")
    return "one approval ran two calls" if len(world.mails(number)) > 1 else ""


ATTACKS = (
    *(
        Attack(f"{who} pauses an agent", _WHO, partial(_pauses, chat=chat, fields=fields))
        for who, (chat, fields) in _SPOOFS.items()
    ),
    Attack("another bot pauses an agent", "bots get no answer", _bot_pauses),
    *(
        Attack(f"{who} approves a call", _WHO, partial(_approves, chat=chat, fields=fields))
        for who, (chat, fields) in _SPOOFS.items()
        if chat > 0
    ),
    Attack("an approval is used twice", "approvals are single use", _twice),
)
