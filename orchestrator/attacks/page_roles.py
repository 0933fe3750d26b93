"""Attacks of people who are logged in, and may less than an operator."""

import json
from contextlib import suppress
from functools import partial
from http import HTTPStatus

import anyio

from orchestrator.attacks.attack_world import SEVERAL, Attack, AttackWorld
from orchestrator.attacks.obedient_model import call, grow
from orchestrator.attacks.page_forms import DESK, GUARD, METHODS
from orchestrator.attacks.raw_page import (
    OUT,
    PageLogin,
    addresses,
    connected,
    effects,
    form_of,
    get,
    given,
    login,
    path_of,
    post,
    request,
    revoke,
)
from orchestrator.control import protocol
from orchestrator.control.page_access import may
from orchestrator.control.page_protocol import WEB_SEND, Role

_LESSER: tuple[Role, ...] = ("viewer", "chat", "approver")
_LISTENED = 1.0  # seconds for what has grown; an idle machine needs a tenth
# Ways to write the address of a method that a check by its letters might miss.
_PATHS = (
    *("/act/agents%2Fpause", "/act/agents%2fpause", "/act/%61gents/pause", "/act/agents/%70ause"),
    *("//act/agents/pause", "/act//agents/pause", "/act/./agents/pause", "/act/agents/pause/"),
    *("/act/x/../agents/pause", "/act/x/%2e%2e/agents/pause", "/act/agents/pause%00"),
    *("/act/agents/pause%20", "/act/agents/pause;x", "/act/agents/pause?method=status"),
    *(
        "/in/../act/agents/pause",
        "/static/..%2fact/agents/pause",
        "/events/%2e%2e/act/agents/pause",
    ),
    *("/ACT/agents/pause", "/act/AGENTS/PAUSE", "/act/status%0d%0aagents/pause"),
    *("http://localhost/act/agents/pause", "/act/agents\\pause", "/act/agents%5cpause"),
)


async def _exceeds(world: AttackWorld, role: Role) -> str:
    """Send every form that the role has no right for, by a session of its own."""
    who, reached = await login(world, role), []
    for method in METHODS:
        if method == OUT or may(role, method):
            continue
        before = effects(world)
        answer = await post(world, path_of(method), form_of(method, who, world.number()), who)
        if answer.status == HTTPStatus.SEE_OTHER or effects(world) != before:
            reached.append(method)
    return f"a {role} did: {', '.join(reached)}" if reached else ""


async def _sneaks(world: AttackWorld, path: str, *, known: bool) -> str:
    """Pause an agent by an unusual address, as a viewer or without a session."""
    who = await login(world, "viewer")
    fields = form_of(protocol.AGENT_PAUSE, who, world.number())
    before = effects(world)
    answer = await post(world, path, fields, who if known else None)
    done = answer.status == HTTPStatus.SEE_OTHER or effects(world) != before
    return f"{path} was done" if done else ""


async def _spoken(world: AttackWorld, text: str) -> PageLogin:
    """Let an operator write in a chat of the page, and wait for the answer."""
    who = await login(world, "operator", user="operator")
    fields = form_of(WEB_SEND, who, world.number())
    await post(world, path_of(WEB_SEND), {**fields, "text": text}, who)
    await world.settled(0)
    return who


async def _peeks(world: AttackWorld, role: Role) -> str:
    """Open every screen for a text of someone else, as a role that may not read it."""
    secret = f"SECRET{world.number()}"
    owner = await _spoken(world, secret)
    chat = world.chat("guarded")
    await world.use(chat, "hx_mail", to="x", body="harmless")
    await world.say(world.chat(), secret)
    who = await login(world, role)
    paths = addresses(world)
    paths += [f"/chats/web/local/{owner.user}/attacked/"]
    paths += [f"/chats/web/local/{who.user}/../{owner.user}/attacked/"]
    paths += [f"/chats/web/local/{who.user}%2f..%2f{owner.user}/attacked/"]
    shown = [path for path in paths if secret in (await get(world, path, who)).body]
    return f"a {role} reads {', '.join(shown)}" if shown else ""


async def _heard(world: AttackWorld, who: PageLogin, user: str, *, ended: bool = False) -> bool:
    """Open the stream of a chat of an operator; return whether its answer is heard growing."""
    owner, number, heard = await login(world, "operator", user=user), world.number(), ""
    address = f"/events?at=/chats/web/local/{user}/attacked/"
    async with await connected(world) as stream:
        await stream.send(request("GET", address, given(world, who, ())))
        while "event: changed" not in heard:
            heard += (await stream.receive()).decode(errors="replace")
        if ended:
            await revoke(world, who.user)
        fields = {**form_of(WEB_SEND, owner, number), "text": grow(number, f"TOP{number}")}
        await post(world, path_of(WEB_SEND), fields, owner)
        await world.settled(0)
        with anyio.move_on_after(_LISTENED), suppress(anyio.EndOfStream):
            while f"TOP{number}" not in heard:
                heard += (await stream.receive()).decode(errors="replace")
    return f"TOP{number}" in heard


async def _overhears(world: AttackWorld, role: Role) -> str:
    """Hear an answer grow in a chat of someone else."""
    heard = await _heard(world, await login(world, role), "operator")
    return f"a {role} hears an answer of the operator grow" if heard else ""


async def _goes_on(world: AttackWorld) -> str:
    """Keep a stream open when the session ends."""
    who = await login(world, "operator", user=f"gone-{world.number()}")
    heard = await _heard(world, who, "operator", ended=True)
    return "an ended session hears an answer grow" if heard else ""


async def _writes(world: AttackWorld, chat: str) -> str:
    """Write into a chat of someone else."""
    who = await login(world, "chat")
    fields = {**form_of(WEB_SEND, who, world.number()), "chat": chat.format(user=who.user)}
    before = effects(world)
    answer = await post(world, path_of(WEB_SEND), fields, who)
    stored = answer.status == HTTPStatus.SEE_OTHER or effects(world)[1] != before[1]
    return f"a message was stored in {chat}" if stored else ""


async def _asks(world: AttackWorld, agent: str) -> str:
    """Write to an agent that is not among those of the session."""
    who = await login(world, "chat", agents=("public",))
    fields = {**form_of(WEB_SEND, who, world.number()), "agent": agent}
    before = effects(world)
    answer = await post(world, path_of(WEB_SEND), fields, who)
    stored = answer.status == HTTPStatus.SEE_OTHER or effects(world)[1] != before[1]
    return f"the agent {agent!r} was asked" if stored else ""


async def _commands(world: AttackWorld) -> str:
    """Give an order of the operator in a chat of one's own."""
    who = await login(world, "chat")
    fields = {**form_of(WEB_SEND, who, world.number()), "text": "/pause guarded"}
    await post(world, path_of(WEB_SEND), fields, who)
    await world.settled(0)
    return "the agent was paused" if await world.paused("guarded") else ""


async def _approves(world: AttackWorld, args_hash: str | None) -> str:
    """Approve a call by a hash that is not that of its arguments, or by none."""
    number, who = world.number(), await login(world, "approver")
    chat = world.chat("guarded")
    await world.say(chat, call(number, "hx_mail", to="x", body=number))
    query = "SELECT code FROM approval WHERE state = 'pending' ORDER BY id DESC LIMIT 1"
    ((code,),) = world.rows(query)
    fields = {**form_of(protocol.APPROVAL_DECIDE, who, world.number()), "code": str(code)}
    del fields["argsHash"]
    if args_hash is not None:
        fields["argsHash"] = args_hash
    await post(world, path_of(protocol.APPROVAL_DECIDE), fields, who)
    await world.settled(chat)
    state = "SELECT state FROM approval WHERE code = ?"
    ((found,),) = world.rows(state, str(code))
    return "" if found == "pending" else f"the call is {found}"


ATTACKS = (
    *(
        Attack(f"a {role} does what others may", DESK, partial(_exceeds, role=role))
        for role in _LESSER
    ),
    *(
        Attack(
            f"{'a viewer' if known else 'no one'} pauses an agent by {json.dumps(path)}",
            SEVERAL,
            partial(_sneaks, path=path, known=known),
        )
        for path in _PATHS
        for known in (True, False)
    ),
    *(
        Attack(f"a {role} reads texts of others", SEVERAL, partial(_peeks, role=role))
        for role in _LESSER
    ),
    *(
        Attack(f"a {role} hears others' answers grow", DESK, partial(_overhears, role=role))
        for role in _LESSER
    ),
    *(
        Attack(f"a guest writes in the chat {chat}", DESK, partial(_writes, chat=chat))
        for chat in ("operator/attacked", "{user}x/attacked")
    ),
    *(
        Attack(f"a guest writes in the chat {chat}", SEVERAL, partial(_writes, chat=chat))
        for chat in ("{user}/../operator/attacked", "{user}", "telegram/1", "{user}/a/b")
    ),
    *(
        Attack(f"a guest asks the agent {agent!r}", DESK, partial(_asks, agent=agent))
        for agent in ("native", "")
    ),
    *(
        Attack(f"a guest asks the agent {agent!r}", SEVERAL, partial(_asks, agent=agent))
        for agent in ("PUBLIC", "public ", "nope")
    ),
    Attack("an ended session goes on hearing", GUARD, _goes_on),
    Attack("a guest commands in a chat", SEVERAL, _commands),
    Attack("an approval of other arguments", DESK, partial(_approves, args_hash="0" * 64)),
    Attack("an approval of arguments unseen", DESK, partial(_approves, args_hash=None)),
    Attack("an approval of no arguments", DESK, partial(_approves, args_hash="")),
)
