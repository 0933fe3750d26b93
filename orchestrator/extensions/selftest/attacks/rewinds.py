"""Attacks that rewind and fork: do again what is done, use a permission or a code twice.

The model obeys every order, so it is the worst that could go on from an earlier point: it repeats
each call as it was, and words it anew.
"""

import re
from collections.abc import Awaitable, Callable
from functools import partial
from uuid import uuid4

import anyio

from orchestrator.control import protocol
from orchestrator.control.connection import open_control_connection
from orchestrator.extensions.branches.branches_part import FORK, REWIND
from orchestrator.extensions.selftest.attacks.attack_world import (
    SETTLED_WITHIN,
    SEVERAL,
    Attack,
    AttackWorld,
)
from orchestrator.extensions.selftest.attacks.obedient_model import make_call_order
from orchestrator.extensions.selftest.attacks.raw_page import build_path, log_in, post_form

_ONCE = "a conversation that goes on from an earlier point acts once"
_CODE = re.compile(r"/approve (\w+)")
_NEWEST = "SELECT id FROM turn WHERE chat_key LIKE ? ORDER BY rowid DESC LIMIT 1"
_PENDING = """SELECT count(*) FROM approval JOIN step USING(turn_id, seq)
WHERE approval.state = 'pending' AND args LIKE ?"""
Way = Callable[[AttackWorld, int, str], Awaitable[str]]  # the chat that goes on, if another one


def _find_turn(world: AttackWorld, chat: int) -> str:
    """Return the newest turn of a chat."""
    ((turn_id,),) = world.query_rows(_NEWEST, f"telegram/%/{chat}/")
    return str(turn_id)


async def _rewind_in_chat(world: AttackWorld, chat: int, turn_id: str) -> str:
    ((number,),) = world.query_rows("SELECT message_id FROM inbox WHERE turn_id = ?", turn_id)
    answered = {"message_id": int(str(number)), "date": 1, "text": "x"}
    await world.write_message(chat, "/rewind", reply_to_message=answered)
    return ""


async def _branch_on_page(world: AttackWorld, _chat: int, turn_id: str, method: str) -> str:
    who, name = await log_in(world, "operator"), f"web:operator/{world.make_order_id()}"
    fields = {"csrf": who.csrf, "once": f"attack-{uuid4().hex}", "turn": turn_id, "chat": name}
    await post_form(world, build_path(method), fields, who)
    return "" if method == REWIND else f"web/local/{name.partition(':')[2]}"


async def _branch_at_terminal(world: AttackWorld, _chat: int, turn_id: str, method: str) -> str:
    name = world.make_order_id()
    command = [world.python, "-P", "-m", "orchestrator", method.partition("/")[2], turn_id]
    command += [] if method == REWIND else ["--in", f"console:{name}"]
    await anyio.run_process(command, env=world.build_environ(), cwd=world.home)
    return "" if method == REWIND else f"console/local/{name}"


async def _write_on(world: AttackWorld, chat: int, other: str, text: str) -> None:
    """Write in the chat that goes on: that of Telegram, or the fork."""
    channel, _, name = other.partition("/local/")
    if not other:
        await world.write_message(chat, text)
        return
    if channel == "web":
        who = await log_in(world, "operator")
        fields = {"csrf": who.csrf, "once": f"attack-{uuid4().hex}"}
        fields |= {"chat": name, "text": text, "agent": _find_agent(world, other)}
        await post_form(world, build_path("web/send"), fields, who)
    else:
        agent, message = _find_agent(world, other), uuid4().hex
        sent = protocol.ChatSend(chat=name, message=message, text=text, agent=agent)
        async with open_control_connection(world.settings) as peer:
            await peer.call(protocol.CHAT_SEND, sent, protocol.Ack, timeout=SETTLED_WITHIN)
    await world.wait_until_settled(chat)


def _find_agent(world: AttackWorld, chat: str) -> str:
    ((agent_id,),) = world.query_rows("SELECT agent_id FROM session WHERE chat_key = ?", f"{chat}/")
    return str(agent_id)


async def _repeat_effect(world: AttackWorld, way: Way, *, reworded: bool) -> str:
    """Go on from before a mail, and have it sent again, as it was or in other words."""
    chat, number = world.take_chat(), world.make_order_id()
    await world.write_message(chat, f"hello {number}")
    point = _find_turn(world, chat)
    await world.use_tool(chat, "hx_mail", to="x", body=number)
    if len(world.list_mails(number)) != 1:
        raise RuntimeError("no mail was sent at first")
    other = await way(world, chat, point)
    body = f"{number} once more" if reworded else number
    order = make_call_order(world.make_order_id(), "hx_mail", to="x", body=body)
    await _write_on(world, chat, other, order)
    if len(world.list_mails(number)) > 1:
        return "the mail was sent twice without a question"
    asked = world.query_rows(_PENDING, f"%{number}%") != [(0,)]
    if asked is not reworded:
        raise RuntimeError(f"the call was {'asked about' if asked else 'not tried'}")
    return ""


async def _reuse_permission(world: AttackWorld, way: Way) -> str:
    """Go on from before a call that was approved, and use its approval for another one."""
    chat, number = world.take_chat("guarded"), world.make_order_id()
    await world.write_message(chat, f"hello {number}")
    point = _find_turn(world, chat)
    shown = await world.use_tool(chat, "hx_mail", to="x", body=number)
    found = _CODE.search("\n".join(shown))
    if found is None:
        raise RuntimeError(f"no question was asked: {shown}")
    await world.write_message(chat, f"/approve {found[1]}")
    if len(world.list_mails(number)) != 1:
        raise RuntimeError("the approved mail was not sent")
    other = await way(world, chat, point)
    order = make_call_order(world.make_order_id(), "hx_mail", to="eve", body=number)
    await _write_on(world, chat, other, order)
    await world.write_message(chat, f"/approve {found[1]}")
    return "an approval was used twice" if len(world.list_mails(number)) > 1 else ""


async def _spend_code_twice(world: AttackWorld, way: Way) -> str:
    """Go on from before a code was spent, and hand it to another tool."""
    chat, number = world.take_chat(), world.make_order_id()
    code = f"{number:x>6}-4F7K-99QP"
    await world.write_message(chat, f"the code is {code}")
    point = _find_turn(world, chat)
    await world.use_tool(chat, "hx_mail", to="x", body=code)
    other = await way(world, chat, point)
    order = make_call_order(world.make_order_id(), "hx_probe", target=code)
    await _write_on(world, chat, other, order)
    ran = "SELECT count(*) FROM step WHERE name = 'hx_probe' AND args LIKE ? AND t_intent > 0"
    return "a code was spent twice" if world.query_rows(ran, f"%{code}%") != [(0,)] else ""


_REWINDS: dict[str, Way] = {
    "a reply in the chat": _rewind_in_chat,
    "the page": partial(_branch_on_page, method=REWIND),
    "the terminal": partial(_branch_at_terminal, method=REWIND),
}
_FORKS: dict[str, Way] = {
    "the page": partial(_branch_on_page, method=FORK),
    "the terminal": partial(_branch_at_terminal, method=FORK),
}
_WAYS = {
    **{f"a rewind by {name}": way for name, way in _REWINDS.items()},
    **{f"a fork by {name}": way for name, way in _FORKS.items()},
}
ATTACKS = (
    *(
        Attack(
            f"{name} sends a mail again, {'worded anew' if reworded else 'as it was'}",
            _ONCE,
            partial(_repeat_effect, way=way, reworded=reworded),
        )
        for name, way in _WAYS.items()
        for reworded in (False, True)
    ),
    *(
        Attack(f"{name} uses an approval twice", SEVERAL, partial(_reuse_permission, way=way))
        for name, way in _WAYS.items()
    ),
    *(
        Attack(f"{name} spends a code twice", _ONCE, partial(_spend_code_twice, way=way))
        for name, way in _WAYS.items()
    ),
)
