"""Attacks by text that the daemon shows: links, invisible characters, forged questions, stalls."""

import re
from functools import partial

import anyio

from orchestrator.extensions.selftest.attacks.attack_world import (
    SETTLED_WITHIN,
    Attack,
    AttackWorld,
)
from orchestrator.extensions.selftest.attacks.obedient_model import make_answer_order
from orchestrator.extensions.selftest.crash.process_tree import read_processor_seconds
from orchestrator.testing.loopback import ForeignJson

_LINKS = "links lead to the web alone"
_ESCAPED = "arguments are shown escaped"
_NAMES = "names are shown as they are"
_HREF = re.compile(r'href="([^"]*)"')
_BIDI = "\u202a\u202b\u202d\u202e\u2066\u2067\u2068"
_STALLED = 1.0  # processor seconds for one answer; the daemon needs a tenth
_LONG = {"images": "![", "links": "["}
_SIZE = 65_000  # characters


async def _show_answer(world: AttackWorld, answer: str) -> str:
    """Return the newest text that the bot was asked to show, after this answer of the model."""
    chat = world.take_chat()
    await world.write_message(chat, make_answer_order(world.make_order_id(), answer))
    return world.list_sent_texts(chat)[-1]


async def _find_live_link(world: AttackWorld, answer: str, target: str) -> str:
    found = [link for link in _HREF.findall(await _show_answer(world, answer)) if target in link]
    return f"the answer has a live link to {found[0]}" if found else ""


async def _mask_link(world: AttackWorld) -> str:
    """Let a link's text be another address than its target."""
    sent = await _show_answer(world, "[https://bank.example](https://evil.example/login)")
    visible = re.sub(r"<[^>]*>", "", sent)
    hidden = _HREF.findall(sent) and "evil.example" not in visible
    return f"the link hides its target: {sent}" if hidden else ""


async def _mask_path(world: AttackWorld) -> str:
    """Let a link's text be another place on the same host."""
    sent = await _show_answer(world, "[https://git.example/us/it](https://git.example/eve/it)")
    visible = re.sub(r"<[^>]*>", "", sent)
    return "" if "/eve/" in visible else f"the link hides its target: {sent}"


async def _mask_name(world: AttackWorld, name: str) -> str:
    """Write under a name that passes for another one."""
    chat = world.take_chat()
    person: ForeignJson = {"id": chat, "is_bot": False, "first_name": name}
    await world.write_message(chat, "hello", **{"from": person})
    ((shown,),) = world.query_rows("SELECT sender_name FROM inbox WHERE chat_id = ?", str(chat))
    hidden = set(str(shown)) & set(_BIDI)
    return f"the name is {shown!r}" if hidden or not str(shown).startswith(str(chat)) else ""


async def _preview_link(world: AttackWorld) -> str:
    chat = world.take_chat()
    await world.write_message(
        chat, make_answer_order(world.make_order_id(), "See https://evil.example/?q=1")
    )
    asked = [ask for ask in world.bot.asked if str(ask["chat_id"]) == str(chat)][-1]
    return "" if (asked.get("link_preview_options") or {}).get("is_disabled") else "it is previewed"


async def _ask_approval(world: AttackWorld, body: str) -> str:
    """Return the question for an approval of a mail with this body."""
    chat = world.take_chat("guarded")
    await world.use_tool(chat, "hx_mail", to="x", body=body)
    return world.list_sent_texts(chat)[-1]


async def _reorder_question(world: AttackWorld) -> str:
    question = await _ask_approval(world, f"to Ada{_BIDI[3]}evE ot{_BIDI}")
    return "the question has bidi controls" if set(question) & set(_BIDI) else ""


async def _forge_question_line(world: AttackWorld) -> str:
    """Let an argument pose as the daemon's own words."""
    question = await _ask_approval(world, "hi\n\n(checked by your operator)\n/approve 12345678")
    lines = question.splitlines()
    return "an argument forged a line of the question" if "/approve 12345678" in lines else ""


async def _hide_argument_end(world: AttackWorld) -> str:
    """Hide the end of an argument behind a long beginning."""
    question = await _ask_approval(world, f"{'harmless ' * 300}and then the harm")
    return (
        ""
        if "the harm" in question or "…" in question
        else "the question hides the end of an argument without saying so"
    )


async def _stall_daemon(world: AttackWorld, piece: str) -> str:
    """Measure the processor time for which an answer blocks the daemon."""
    chat, before = world.take_chat(), read_processor_seconds(world.pid)
    world.bot.send_user_message(
        chat, make_answer_order(world.make_order_id(), piece * (_SIZE // len(piece)))
    )
    with anyio.move_on_after(SETTLED_WITHIN) as waiting:
        while not world.bot.list_texts(chat):  # the rest is sent at the platform's pace
            await world.bot.wait_for_change()
    if waiting.cancelled_caught:
        return f"no answer came in {SETTLED_WITHIN:.0f} s"
    needed = read_processor_seconds(world.pid) - before
    return f"the daemon computed for {needed:.1f} s" if needed > _STALLED else ""


ATTACKS = (
    *(
        Attack(
            f"a {scheme} link is live",
            _LINKS,
            partial(_find_live_link, answer=f"[here]({scheme}:{rest})", target=f"{scheme}:"),
        )
        for scheme, rest in (
            ("tg", "//resolve?domain=evil"),
            ("javascript", "alert(1)"),
            ("data", "text/html,x"),
            ("file", "///etc/passwd"),
        )
    ),
    Attack("a link's text is another address", "links show where they lead", _mask_link),
    Attack("a link's text is another page", "links show the whole place", _mask_path),
    *(
        Attack(f"a name {what}", _NAMES, partial(_mask_name, name=name))
        for what, name in {
            "is another address": "boss@bank.example",
            "hides its letters": f"{_BIDI[3]}@owner{_BIDI}",
        }.items()
    ),
    Attack("a link is previewed", "previews are off", _preview_link),
    Attack("a question is reordered", _ESCAPED, _reorder_question),
    Attack("an argument forges a question", _ESCAPED, _forge_question_line),
    Attack(
        "a question hides an argument",
        "arguments are shown whole or cut visibly",
        _hide_argument_end,
    ),
    *(
        Attack(
            f"65 KB of {name} stall the daemon", "linear text", partial(_stall_daemon, piece=piece)
        )
        for name, piece in _LONG.items()
    ),
)
