"""Attacks on the forms of the page: other sites, forged and repeated forms, ways past the checks.

Each of them is tried with every method that the page knows, by an operator's own browser.
"""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from urllib.parse import quote, urlencode

import anyio

from orchestrator.control import protocol
from orchestrator.extensions.page.daemon_side.page_access import REQUIRED_RIGHTS
from orchestrator.extensions.selftest.attacks.attack_world import SEVERAL, Attack, AttackWorld
from orchestrator.extensions.selftest.attacks.raw_page import (
    OUT,
    POSTED,
    Headers,
    PageAnswer,
    PageLogin,
    build_form,
    build_path,
    build_request,
    complete_headers,
    list_done_methods,
    log_in,
    post_form,
    revoke_sessions,
    send_bytes,
)

GUARD = "requests of the page come from the page"
DESK = "the supervisor decides what a session does"
METHODS = (*REQUIRED_RIGHTS, *POSTED, OUT)  # logging out is last: it ends the session
_EVIL = "https://evil.example"
_FORM = "application/x-www-form-urlencoded"
Trick = Callable[[AttackWorld, str, PageLogin], Awaitable[PageAnswer]]


def _build_own_origin(world: AttackWorld) -> str:
    return f"http://localhost:{world.page_port}"


async def _post_with_headers(
    world: AttackWorld, method: str, who: PageLogin, headers: Headers
) -> PageAnswer:
    """Send a valid form with other headers; ``$OWN`` stands for the page's own site."""
    own = _build_own_origin(world)
    filled = [(name, value.replace("$OWN", own)) for name, value in headers]
    return await post_form(
        world, build_path(method), build_form(method, who, world.make_order_id()), who, filled
    )


async def _post_with_csrf(world: AttackWorld, method: str, who: PageLogin, csrf: str) -> PageAnswer:
    fields = {**build_form(method, who, world.make_order_id()), "csrf": csrf}
    return await post_form(world, build_path(method), fields, who)


async def _post_without_csrf(world: AttackWorld, method: str, who: PageLogin) -> PageAnswer:
    fields = build_form(method, who, world.make_order_id())
    del fields["csrf"]
    return await post_form(world, build_path(method), fields, who)


async def _post_with_foreign_csrf(world: AttackWorld, method: str, who: PageLogin) -> PageAnswer:
    """Use the value of another login of the same person."""
    return await _post_with_csrf(world, method, who, PageLogin(who.user, "0" * 64).csrf)


async def _post_csrf_in_query(world: AttackWorld, method: str, who: PageLogin) -> PageAnswer:
    fields = build_form(method, who, world.make_order_id())
    path = f"{build_path(method)}?{urlencode({'csrf': fields.pop('csrf')})}"
    return await post_form(world, path, fields, who)


async def _send_by_verb(
    world: AttackWorld, method: str, who: PageLogin, verb: str, headers: Headers = ()
) -> PageAnswer:
    """Send a form by another verb, in the address and as the body."""
    fields = urlencode(build_form(method, who, world.make_order_id()))
    own = ("Origin", _build_own_origin(world)), ("Sec-Fetch-Site", "same-origin"), *headers
    whole = complete_headers(world, who, (*own, ("Content-Type", _FORM)))
    return await send_bytes(
        world, build_request(verb, f"{build_path(method)}?{fields}", whole, fields.encode())
    )


async def _post_as_body(
    world: AttackWorld, method: str, who: PageLogin, kind: str, write: Callable[..., str]
) -> PageAnswer:
    """Send the fields of a form in another notation."""
    fields = build_form(method, who, world.make_order_id())
    own = (
        ("Origin", _build_own_origin(world)),
        ("Sec-Fetch-Site", "same-origin"),
        ("Content-Type", kind),
    )
    body = write(fields).encode()
    return await send_bytes(
        world, build_request("POST", build_path(method), complete_headers(world, who, own), body)
    )


async def _post_without_login(world: AttackWorld, method: str, who: PageLogin) -> PageAnswer:
    """Send a form without a session."""
    return await post_form(
        world, build_path(method), build_form(method, who, world.make_order_id())
    )


async def _post_made_up_session(world: AttackWorld, method: str, who: PageLogin) -> PageAnswer:
    """Send a form with a token that no one was given."""
    return await _post_form(world, method, PageLogin(who.user, "ab" * 32))


async def _post_form(world: AttackWorld, method: str, who: PageLogin) -> PageAnswer:
    return await post_form(
        world, build_path(method), build_form(method, who, world.make_order_id()), who
    )


async def _post_without_id(world: AttackWorld, method: str, who: PageLogin) -> PageAnswer:
    fields = build_form(method, who, world.make_order_id())
    del fields["once"]
    return await post_form(world, build_path(method), fields, who)


def _format_multipart(fields: Mapping[str, str]) -> str:
    parts = [
        f'--edge\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
        for name, value in fields.items()
    ]
    return "".join([*parts, "--edge--\r\n"])


async def _try_methods(world: AttackWorld, trick: Trick, methods: Sequence[str] = METHODS) -> str:
    """Try a trick with every method, and return the names of those that had an effect."""
    who = await log_in(world, "operator", user="operator")
    reached = await list_done_methods(world, methods, lambda method: trick(world, method, who))
    return f"it was done: {', '.join(reached)}" if reached else ""


async def _post_after_logout(world: AttackWorld) -> str:
    """Send forms of a login that has ended."""
    who = await log_in(world, "operator", user=f"gone-{world.make_order_id()}")
    await revoke_sessions(world, who.user)
    return await _try_methods(world, lambda world, method, _: _post_form(world, method, who))


async def _repeat_form(world: AttackWorld, *, at_once: bool) -> str:
    """Send the same form four times, one after another or at the same time."""
    who = await log_in(world, "operator", user="operator")
    fields = build_form(protocol.RELOAD, who, world.make_order_id())
    query = "SELECT count(*) FROM audit WHERE actor = 'web:operator' AND act = ?"
    ((before,),) = world.query_rows(query, protocol.RELOAD)
    async with anyio.create_task_group() as tasks:
        for _ in range(4):
            again = partial(post_form, world, f"/act/{protocol.RELOAD}", fields, who)
            if at_once:
                tasks.start_soon(again)
            else:
                await again()
    ((after,),) = world.query_rows(query, protocol.RELOAD)
    times = int(str(after)) - int(str(before))
    return f"one form was done {times} times" if times != 1 else ""


async def _redirect_away(world: AttackWorld, back: str) -> str:
    who = await log_in(world, "operator", user="operator")
    fields = {**build_form(protocol.RELOAD, who, world.make_order_id()), "back": back}
    answer = await post_form(world, f"/act/{protocol.RELOAD}", fields, who)
    place = answer.get_header("location")
    own = place.startswith("/") and not place.startswith(("//", "/\\"))
    return "" if own and "x-evil" not in answer.head.lower() else f"it leads to {place}"


async def _listen_from_site(world: AttackWorld, site: str) -> str:
    """Listen to the stream of changes from a page of another site."""
    who = await log_in(world, "operator", user="operator")
    whole = complete_headers(world, who, (("Sec-Fetch-Site", site), ("Origin", _EVIL)))
    found = await send_bytes(
        world,
        build_request("GET", "/events?at=/", whole),
        lambda text: "event:" in text or "403" in text,
    )
    return "the stream was heard" if "event:" in found.body else ""


_SITES: dict[str, Headers] = {
    "without an Origin": (("Origin", ""),),
    "of a foreign Origin": (("Origin", _EVIL),),
    "of a sandbox": (("Origin", "null"), ("Sec-Fetch-Site", "cross-site")),
    "of a sandbox that does not say so": (("Origin", "null"), ("Sec-Fetch-Site", "")),
    "of a neighboring port": (("Origin", "http://localhost:1"),),
    "of a name that begins alike": (("Origin", "$OWN.evil.example"),),
    "of two Origins": (("Origin", "$OWN"), ("Origin", _EVIL)),
    "of two Origins, the foreign one first": (("Origin", _EVIL), ("Origin", "$OWN")),
    "from another site": (("Sec-Fetch-Site", "cross-site"),),
    "from a neighboring site": (("Sec-Fetch-Site", "same-site"),),
    "from no site": (("Sec-Fetch-Site", "none"),),
    "from two sites": (("Sec-Fetch-Site", "same-origin"), ("Sec-Fetch-Site", "cross-site")),
}
_TRICKS: dict[str, tuple[str, Trick]] = {
    **{name: (GUARD, partial(_post_with_headers, headers=sites)) for name, sites in _SITES.items()},
    "without its CSRF value": (GUARD, _post_without_csrf),
    "with an empty CSRF value": (GUARD, partial(_post_with_csrf, csrf="")),
    "with a wrong CSRF value": (GUARD, partial(_post_with_csrf, csrf="0" * 32)),
    "with the CSRF value of another login": (GUARD, _post_with_foreign_csrf),
    "with its CSRF value in the address": (GUARD, _post_csrf_in_query),
    "by GET": (SEVERAL, partial(_send_by_verb, verb="GET")),
    "by HEAD": (SEVERAL, partial(_send_by_verb, verb="HEAD")),
    "by PUT": (SEVERAL, partial(_send_by_verb, verb="PUT")),
    "by an override of GET": (
        SEVERAL,
        partial(_send_by_verb, verb="GET", headers=(("X-HTTP-Method-Override", "POST"),)),
    ),
    "as JSON": (SEVERAL, partial(_post_as_body, kind="application/json", write=json.dumps)),
    "as JSON that claims to be a form": (
        SEVERAL,
        partial(_post_as_body, kind=_FORM, write=json.dumps),
    ),
    "as multipart": (
        SEVERAL,
        partial(_post_as_body, kind="multipart/form-data; boundary=edge", write=_format_multipart),
    ),
    "without a session": (SEVERAL, _post_without_login),
    "of a made-up session": (SEVERAL, _post_made_up_session),
    "for two Hosts": (SEVERAL, partial(_post_with_headers, headers=(("Host", "a"), ("Host", "b")))),
}
_AWAY = (
    *(_EVIL, "//evil.example", "///evil.example", "javascript:alert(1)"),
    " //evil.example",
    "\t//evil.example",
    "https:evil.example",
)
ATTACKS = (
    *(
        Attack(f"a form {name}", defence, partial(_try_methods, trick=trick))
        for name, (defence, trick) in _TRICKS.items()
    ),
    Attack("a form leads to a backslash", SEVERAL, partial(_redirect_away, back="/\\evil.example")),
    Attack("a form of an ended session", SEVERAL, _post_after_logout),
    Attack(
        "a form without its id",
        SEVERAL,
        partial(_try_methods, trick=_post_without_id, methods=(*REQUIRED_RIGHTS, *POSTED)),
    ),
    Attack("a form is repeated", DESK, partial(_repeat_form, at_once=False)),
    Attack("a form is sent four times at once", DESK, partial(_repeat_form, at_once=True)),
    *(
        Attack(f"a form leads to {quote(back)}", GUARD, partial(_redirect_away, back=back))
        for back in _AWAY
    ),
    Attack(
        "a form writes a header",
        SEVERAL,
        partial(_redirect_away, back="/turns\r\nX-Evil: 1\r\n\r\n"),
    ),
    *(
        Attack(
            f"the stream of changes is heard from {site}",
            GUARD,
            partial(_listen_from_site, site=site),
        )
        for site in ("cross-site", "same-site", "none")
    ),
)
