"""Attacks by text of models, tools and strangers, on every screen of the page."""

import re
from functools import partial
from http import HTTPStatus
from urllib.parse import quote

from orchestrator.extensions.page.daemon_side.page_protocol import WEB_SEND
from orchestrator.extensions.selftest.attacks.attack_world import SEVERAL, Attack, AttackWorld
from orchestrator.extensions.selftest.attacks.inert_html import InertHtml
from orchestrator.extensions.selftest.attacks.obedient_model import make_answer_order
from orchestrator.extensions.selftest.attacks.posted_texts import build_fields
from orchestrator.extensions.selftest.attacks.raw_page import (
    PageLogin,
    build_form,
    build_path,
    enter_code,
    get_page,
    list_addresses,
    open_page,
    parse_token,
    post_form,
)

_INERT = "texts of others are inert on the page"
_SHOWN = {HTTPStatus.OK, HTTPStatus.SEE_OTHER}
_OF_EXTENSIONS = "/x/"  # where none has a screen here
_SIZE = 900_000  # characters
_LARGEST = 1_500_000  # bytes of a screen
_DEPTH = 64
_TAGS = (
    '<script>alert(1)</script><img src=x onerror="alert(1)"><iframe src="//evil.example"></iframe>'
    "<svg/onload=alert(1)><style>*{display:none}</style><form action=https://evil.example>"
    '<a href="javascript:alert(1)">here</a><b style="color:red">x</b></textarea></title>'
    '"><script src=//evil.example/x.js></script><base href=//evil.example><link rel=x href=//e.x>'
)
_MARKDOWN = (
    "![seen](https://evil.example/seen.png?q=1) ![](//evil.example/x) [a](javascript:alert(1))"
    " [b](data:text/html;base64,PHNjcmlwdD4=) [c](JaVaScRiPt:alert(1)) [d](vbscript:x)"
    " [e](//evil.example) [f](/act/reload) <javascript:alert(1)>\n\n"
    "[g]: javascript:alert(1)\n\n[g] ![h][i]\n\n[i]: https://evil.example/i.png\n"
)
_UNSEEN = (
    "a\u202eb\u2066c\u200bd\ufeffe\U000e0041f\u00adg\u061ch\x07i\x1b[31mj\x1b]8;;https://evil.example"
    "\x1b\\k\u2028l\u0085m\ue000n"
)
_PLANTS = {"tags": _TAGS, "Markdown": _MARKDOWN, "unseen characters": _UNSEEN}
_ESTIMATED = re.compile(r'name="estimated" value="([0-9a-f]+)"')
_TRIED = "SELECT turn_id FROM turn_prompt GROUP BY turn_id ORDER BY max(at) DESC LIMIT 2"
_IN_ADDRESSES = (
    *(
        "/turns?agent=",
        "/turns?chat=",
        "/costs?by=",
        "/tasks?week=",
        "/nope/",
        "/chats/",
        "/turns/",
    ),
    "/manual/",
    "/inbox/",
    "/m/",
    "/tasks/",
    "/static/x/",
    "/in?code=",
    "/logs?text=",
    "/try?file=",
    "/try?on=last&agent=",
    "/try/",
    "/trials/",
    "/fork/",
)


async def _plant_text(world: AttackWorld, text: str) -> PageLogin:
    """Let everyone write ``text`` wherever they can; return an operator's login."""
    number = world.make_order_id()
    person = {"id": 77, "is_bot": False, "first_name": text[:200], "last_name": text[-200:]}
    await world.write_message(world.take_chat(), make_answer_order(f"{number}-say", text))
    await world.write_message(world.take_chat("public"), text, **{"from": person})
    told = text.replace('"', "'")  # orders to the model quote with "
    task = {"name": told[:60], "instructions": told, "interval_minutes": "60"}
    skill = {"name": f"planted-{number}", "description": told, "instructions": told}
    await world.use_tool(world.take_chat(), "schedule_task", **task)
    await world.use_tool(world.take_chat(), "store_fact", fact=f"{number} {told[:300]}")
    await world.use_tool(world.take_chat(), "store_skill", **skill)
    await world.use_tool(world.take_chat(), max(told.split(), key=len)[:60], body=told)
    await world.use_tool(world.take_chat("guarded"), "hx_mail", to=told[:100], body=told)
    await world.visit_page(world.take_chat(), text)
    code = await open_page(world)
    who = PageLogin(
        "operator",
        parse_token(
            await enter_code(world, code, headers=(("User-Agent", _strip_to_ascii(text)),))
        ),
    )
    fields = {**build_form(WEB_SEND, who, number), "text": make_answer_order(f"{number}-web", text)}
    await post_form(world, build_path(WEB_SEND), fields, who)
    await world.wait_until_settled(0)
    for (turn,) in world.query_rows(_TRIED):
        await _try_turn(world, who, str(turn), text)
    return who


async def _try_turn(world: AttackWorld, who: PageLogin, turn: str, text: str) -> None:
    """Keep a turn as a test and try it again, with ``text`` as checks and in its prompt."""
    checks = f"same calls\n# {' '.join(text.split())}"
    kept = build_fields(world, who, set="planted", checks=checks)
    await post_form(world, f"/turns/{turn}/test", kept, who)
    change = {"layer:base": text, "limit_usd": "1", "limit_tokens": "100000"}
    asked = build_fields(world, who, do="estimate", **change)
    shown = await post_form(world, f"/try/{turn}", asked, who)
    found = _ESTIMATED.search(shown.body)
    if found is None:
        raise RuntimeError("the turn cannot be tried")
    await post_form(world, f"/try/{turn}", {**asked, "do": "run", "estimated": found[1]}, who)


async def _find_acting_text(world: AttackWorld, text: str) -> str:
    """Look on every screen for anything that is more than text."""
    who = await _plant_text(world, f"PLANTED {text}")
    found, seen = [], False
    paths = [*list_addresses(world), *(f"{path}{quote(text[:300])}" for path in _IN_ADDRESSES)]
    for path in paths:
        answer = await get_page(world, path, who)
        seen = seen or "PLANTED" in answer.body
        found += [f"{path[:60]}: {harm}" for harm in InertHtml(answer.body).harm]
    if not seen or not world.query_rows("SELECT 1 FROM trial, saved_turn"):
        raise RuntimeError("the text was shown nowhere, or not tried")
    return "; ".join(found[:5])


async def _show_large_lines(world: AttackWorld) -> str:
    """Let a line of almost a megabyte be shown."""
    who = await _plant_text(world, f"PLANTED {'x' * 2000}")
    fields = {**build_form(WEB_SEND, who, world.make_order_id()), "text": "y" * _SIZE}
    await post_form(world, build_path(WEB_SEND), fields, who)
    await world.wait_until_settled(0)
    await world.visit_page(world.take_chat(), "z" * _SIZE)
    return await _find_broken_screen(world, who)


async def _show_deep_arguments(world: AttackWorld) -> str:
    """Let a tool be called with deeply nested arguments."""
    deep: object = "x"
    for level in range(_DEPTH):
        deep = {"a": deep} if level % 2 else [deep]
    await world.use_tool(world.take_chat(), "hx_mail", to="x", body=deep)
    await world.use_tool(world.take_chat("guarded"), "hx_mail", to="x", body=deep)
    who = await _plant_text(world, "PLANTED")
    return await _find_broken_screen(world, who)


async def _find_broken_screen(world: AttackWorld, who: PageLogin) -> str:
    """Look for a screen that is not shown, or is far too large."""
    for path in list_addresses(world):
        answer = await get_page(world, path, who)
        absent = path.startswith(_OF_EXTENSIONS) and answer.status == HTTPStatus.NOT_FOUND
        if answer.status not in _SHOWN and not absent:
            return f"{path} answered {answer.status}"
        if len(answer.body) > _LARGEST:
            return f"{path} has {len(answer.body)} bytes"
    return ""


def _strip_to_ascii(text: str) -> str:
    return "".join(char for char in text if char.isprintable() and char.isascii())[:500]


ATTACKS = (
    *(
        Attack(f"{name} of others act on a screen", _INERT, partial(_find_acting_text, text=text))
        for name, text in _PLANTS.items()
    ),
    Attack("lines of a megabyte stop a screen", SEVERAL, _show_large_lines),
    Attack("deep arguments stop a screen", SEVERAL, _show_deep_arguments),
)
