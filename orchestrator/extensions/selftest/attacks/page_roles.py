"""Attacks by logged-in people with fewer rights than an operator."""

import json
from contextlib import suppress
from functools import partial

import anyio

from orchestrator.control import protocol
from orchestrator.extensions.page.daemon_side.page_access import can_call_method
from orchestrator.extensions.page.daemon_side.page_protocol import WEB_SEND, Role
from orchestrator.extensions.selftest.attacks.attack_world import (
    SETTLED_WITHIN,
    SEVERAL,
    Attack,
    AttackWorld,
)
from orchestrator.extensions.selftest.attacks.obedient_model import (
    make_call_order,
    make_growing_order,
)
from orchestrator.extensions.selftest.attacks.page_forms import DESK, GUARD, METHODS
from orchestrator.extensions.selftest.attacks.raw_page import (
    OUT,
    PageAnswer,
    PageLogin,
    build_form,
    build_path,
    build_request,
    complete_headers,
    connect_page,
    count_effects,
    get_page,
    list_addresses,
    list_done_methods,
    log_in,
    post_form,
    revoke_sessions,
)

_LESSER: tuple[Role, ...] = ("viewer", "chat", "approver")
_LISTENED = 1.0  # seconds of listening; an idle machine needs a tenth
# Ways to write the address of a method that a check by its letters might miss.
_PATHS = (
    "/act/agents%2Fpause",
    "/act/agents%2fpause",
    "/act/%61gents/pause",
    "/act/agents/%70ause",
    "//act/agents/pause",
    "/act//agents/pause",
    "/act/./agents/pause",
    "/act/agents/pause/",
    "/act/x/../agents/pause",
    "/act/x/%2e%2e/agents/pause",
    "/act/agents/pause%00",
    "/act/agents/pause%20",
    "/act/agents/pause;x",
    "/act/agents/pause?method=status",
    *(
        "/in/../act/agents/pause",
        "/static/..%2fact/agents/pause",
        "/events/%2e%2e/act/agents/pause",
    ),
    "/ACT/agents/pause",
    "/act/AGENTS/PAUSE",
    "/act/status%0d%0aagents/pause",
    "http://localhost/act/agents/pause",
    "/act/agents\\pause",
    "/act/agents%5cpause",
)


async def _exceed_role(world: AttackWorld, role: Role) -> str:
    """Send every form that the role has no right to, from a session of the role."""
    who = await log_in(world, role)

    async def send(method: str) -> PageAnswer:
        fields = build_form(method, who, world.make_order_id())
        return await post_form(world, build_path(method), fields, who)

    forbidden = [one for one in METHODS if one != OUT and not can_call_method(role, one)]
    reached = await list_done_methods(world, forbidden, send)
    return f"a {role} did: {', '.join(reached)}" if reached else ""


async def _pause_by_path(world: AttackWorld, path: str, *, known: bool) -> str:
    """Pause an agent by an unusual address, as a viewer or without a session."""
    who = await log_in(world, "viewer")
    fields = build_form(protocol.AGENT_PAUSE, who, world.make_order_id())
    before = count_effects(world)
    answer = await post_form(world, path, fields, who if known else None)
    done = answer.is_done or count_effects(world) != before
    return f"{path} was done" if done else ""


async def _write_as_operator(world: AttackWorld, text: str) -> PageLogin:
    """Let an operator write in a chat of the page, and wait for the answer."""
    who = await log_in(world, "operator", user="operator")
    fields = build_form(WEB_SEND, who, world.make_order_id())
    await post_form(world, build_path(WEB_SEND), {**fields, "text": text}, who)
    await world.wait_until_settled(0)
    return who


async def _read_others_texts(world: AttackWorld, role: Role) -> str:
    """Look on every screen for text of someone else, as a role that may not read it."""
    secret = f"SECRET{world.make_order_id()}"
    owner = await _write_as_operator(world, secret)
    chat = world.take_chat("guarded")
    await world.use_tool(chat, "hx_mail", to="x", body="harmless")
    await world.write_message(world.take_chat(), secret)
    who = await log_in(world, role)
    paths = list_addresses(world)
    paths += [f"/chats/web/local/{owner.user}/attacked/"]
    paths += [f"/chats/web/local/{who.user}/../{owner.user}/attacked/"]
    paths += [f"/chats/web/local/{who.user}%2f..%2f{owner.user}/attacked/"]
    shown = [path for path in paths if secret in (await get_page(world, path, who)).body]
    return f"a {role} reads {', '.join(shown)}" if shown else ""


async def _hear_growing_answer(
    world: AttackWorld, who: PageLogin, user: str, *, ended: bool = False
) -> bool:
    """Open the stream of an operator's chat; return whether its growing answer can be seen."""
    owner, number, heard = await log_in(world, "operator", user=user), world.make_order_id(), ""
    address = f"/events?at=/chats/web/local/{user}/attacked/"
    async with await connect_page(world) as stream:
        await stream.send(build_request("GET", address, complete_headers(world, who, ())))
        with anyio.fail_after(SETTLED_WITHIN):
            while "event: changed" not in heard:
                heard += (await stream.receive()).decode(errors="replace")
        if ended:
            await revoke_sessions(world, who.user)
        fields = {
            **build_form(WEB_SEND, owner, number),
            "text": make_growing_order(number, f"TOP{number}"),
        }
        await post_form(world, build_path(WEB_SEND), fields, owner)
        await world.wait_until_settled(0)
        with anyio.move_on_after(_LISTENED), suppress(anyio.EndOfStream):
            while f"TOP{number}" not in heard:
                heard += (await stream.receive()).decode(errors="replace")
    return f"TOP{number}" in heard


async def _overhear_operator(world: AttackWorld, role: Role) -> str:
    """Watch an answer grow in a chat of someone else."""
    heard = await _hear_growing_answer(world, await log_in(world, role), "operator")
    return f"a {role} hears an answer of the operator grow" if heard else ""


async def _listen_after_logout(world: AttackWorld) -> str:
    """Keep a stream open when the session ends."""
    who = await log_in(world, "operator", user=f"gone-{world.make_order_id()}")
    heard = await _hear_growing_answer(world, who, "operator", ended=True)
    return "an ended session hears an answer grow" if heard else ""


async def _write_in_others_chat(world: AttackWorld, chat: str) -> str:
    """Write into a chat of someone else."""
    who = await log_in(world, "chat")
    fields = {
        **build_form(WEB_SEND, who, world.make_order_id()),
        "chat": chat.format(user=who.user),
    }
    before = count_effects(world)
    answer = await post_form(world, build_path(WEB_SEND), fields, who)
    stored = answer.is_done or count_effects(world)[1] != before[1]
    return f"a message was stored in {chat}" if stored else ""


async def _ask_foreign_agent(world: AttackWorld, agent: str) -> str:
    """Write to an agent that does not belong to the session."""
    who = await log_in(world, "chat", agents=("public",))
    fields = {**build_form(WEB_SEND, who, world.make_order_id()), "agent": agent}
    before = count_effects(world)
    answer = await post_form(world, build_path(WEB_SEND), fields, who)
    stored = answer.is_done or count_effects(world)[1] != before[1]
    return f"the agent {agent!r} was asked" if stored else ""


async def _command_in_chat(world: AttackWorld) -> str:
    """Give an order of the operator in a chat of one's own."""
    who = await log_in(world, "chat")
    fields = {**build_form(WEB_SEND, who, world.make_order_id()), "text": "/pause guarded"}
    await post_form(world, build_path(WEB_SEND), fields, who)
    await world.wait_until_settled(0)
    return "the agent was paused" if await world.is_agent_paused("guarded") else ""


async def _approve_by_hash(world: AttackWorld, args_hash: str | None) -> str:
    """Approve a call with a hash other than its arguments', or with none."""
    number, who = world.make_order_id(), await log_in(world, "approver")
    chat = world.take_chat("guarded")
    await world.write_message(chat, make_call_order(number, "hx_mail", to="x", body=number))
    query = "SELECT code FROM approval WHERE state = 'pending' ORDER BY id DESC LIMIT 1"
    ((code,),) = world.query_rows(query)
    fields = {**build_form(protocol.APPROVAL_DECIDE, who, world.make_order_id()), "code": str(code)}
    del fields["argsHash"]
    if args_hash is not None:
        fields["argsHash"] = args_hash
    await post_form(world, build_path(protocol.APPROVAL_DECIDE), fields, who)
    await world.wait_until_settled(chat)
    state = "SELECT state FROM approval WHERE code = ?"
    ((found,),) = world.query_rows(state, str(code))
    return "" if found == "pending" else f"the call is {found}"


ATTACKS = (
    *(
        Attack(f"a {role} does what others may", DESK, partial(_exceed_role, role=role))
        for role in _LESSER
    ),
    *(
        Attack(
            f"{'a viewer' if known else 'no one'} pauses an agent by {json.dumps(path)}",
            SEVERAL,
            partial(_pause_by_path, path=path, known=known),
        )
        for path in _PATHS
        for known in (True, False)
    ),
    *(
        Attack(f"a {role} reads texts of others", SEVERAL, partial(_read_others_texts, role=role))
        for role in _LESSER
    ),
    *(
        Attack(f"a {role} hears others' answers grow", DESK, partial(_overhear_operator, role=role))
        for role in _LESSER
    ),
    *(
        Attack(
            f"a guest writes in the chat {chat}", DESK, partial(_write_in_others_chat, chat=chat)
        )
        for chat in ("operator/attacked", "{user}x/attacked")
    ),
    *(
        Attack(
            f"a guest writes in the chat {chat}", SEVERAL, partial(_write_in_others_chat, chat=chat)
        )
        for chat in ("{user}/../operator/attacked", "{user}", "telegram/1", "{user}/a/b")
    ),
    *(
        Attack(f"a guest asks the agent {agent!r}", DESK, partial(_ask_foreign_agent, agent=agent))
        for agent in ("native", "")
    ),
    *(
        Attack(
            f"a guest asks the agent {agent!r}", SEVERAL, partial(_ask_foreign_agent, agent=agent)
        )
        for agent in ("PUBLIC", "public ", "nope")
    ),
    Attack("an ended session goes on hearing", GUARD, _listen_after_logout),
    Attack("a guest commands in a chat", SEVERAL, _command_in_chat),
    Attack("an approval of other arguments", DESK, partial(_approve_by_hash, args_hash="0" * 64)),
    Attack("an approval of arguments unseen", DESK, partial(_approve_by_hash, args_hash=None)),
    Attack("an approval of no arguments", DESK, partial(_approve_by_hash, args_hash="")),
)
