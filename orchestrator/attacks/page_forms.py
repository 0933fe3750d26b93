"""Attacks on the forms of the page: other sites, forged and repeated forms, ways past the checks.

Each of them is tried with every method that the page knows, by an operator's own browser.
"""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from urllib.parse import quote, urlencode

import anyio

from orchestrator.attacks.attack_world import SEVERAL, Attack, AttackWorld
from orchestrator.attacks.raw_page import (
    OUT,
    Headers,
    PageAnswer,
    PageLogin,
    effects,
    form_of,
    given,
    login,
    path_of,
    post,
    request,
    revoke,
    sent,
)
from orchestrator.control import protocol
from orchestrator.control.page_access import NEEDED

GUARD = "requests of the page come from the page"
DESK = "the supervisor decides what a session does"
METHODS = (*NEEDED, OUT)  # logging out is last: it ends the session
_SEE_OTHER = 303  # what is done leads back
_EVIL = "https://evil.example"
_FORM = "application/x-www-form-urlencoded"
Trick = Callable[[AttackWorld, str, PageLogin], Awaitable[PageAnswer]]


def _own(world: AttackWorld) -> str:
    return f"http://localhost:{world.page_port}"


async def _by_headers(
    world: AttackWorld, method: str, who: PageLogin, headers: Headers
) -> PageAnswer:
    """Send a right form with other headers; ``$OWN`` stands for the page's own site."""
    own = _own(world)
    filled = [(name, value.replace("$OWN", own)) for name, value in headers]
    return await post(world, path_of(method), form_of(method, who, world.number()), who, filled)


async def _by_csrf(world: AttackWorld, method: str, who: PageLogin, csrf: str) -> PageAnswer:
    fields = {**form_of(method, who, world.number()), "csrf": csrf}
    return await post(world, path_of(method), fields, who)


async def _without_csrf(world: AttackWorld, method: str, who: PageLogin) -> PageAnswer:
    fields = form_of(method, who, world.number())
    del fields["csrf"]
    return await post(world, path_of(method), fields, who)


async def _with_others_csrf(world: AttackWorld, method: str, who: PageLogin) -> PageAnswer:
    """Use the value of another login of the same person."""
    return await _by_csrf(world, method, who, PageLogin(who.user, "0" * 64).csrf)


async def _in_query(world: AttackWorld, method: str, who: PageLogin) -> PageAnswer:
    fields = form_of(method, who, world.number())
    path = f"{path_of(method)}?{urlencode({'csrf': fields.pop('csrf')})}"
    return await post(world, path, fields, who)


async def _by_verb(
    world: AttackWorld, method: str, who: PageLogin, verb: str, headers: Headers = ()
) -> PageAnswer:
    """Send a form by another verb, in the address and as the body."""
    fields = urlencode(form_of(method, who, world.number()))
    own = ("Origin", _own(world)), ("Sec-Fetch-Site", "same-origin"), *headers
    whole = given(world, who, (*own, ("Content-Type", _FORM)))
    return await sent(world, request(verb, f"{path_of(method)}?{fields}", whole, fields.encode()))


async def _as_body(
    world: AttackWorld, method: str, who: PageLogin, kind: str, write: Callable[..., str]
) -> PageAnswer:
    """Send the fields of a form in another notation."""
    fields = form_of(method, who, world.number())
    own = ("Origin", _own(world)), ("Sec-Fetch-Site", "same-origin"), ("Content-Type", kind)
    body = write(fields).encode()
    return await sent(world, request("POST", path_of(method), given(world, who, own), body))


async def _unknown(world: AttackWorld, method: str, who: PageLogin) -> PageAnswer:
    """Send a form without a session."""
    return await post(world, path_of(method), form_of(method, who, world.number()))


async def _made_up(world: AttackWorld, method: str, who: PageLogin) -> PageAnswer:
    """Send a form with a token that no one was given."""
    return await _without_session(world, method, PageLogin(who.user, "ab" * 32))


async def _without_session(world: AttackWorld, method: str, who: PageLogin) -> PageAnswer:
    return await post(world, path_of(method), form_of(method, who, world.number()), who)


async def _without_id(world: AttackWorld, method: str, who: PageLogin) -> PageAnswer:
    fields = form_of(method, who, world.number())
    del fields["once"]
    return await post(world, path_of(method), fields, who)


def _multipart(fields: Mapping[str, str]) -> str:
    parts = [
        f'--edge\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
        for name, value in fields.items()
    ]
    return "".join([*parts, "--edge--\r\n"])


async def _tried(world: AttackWorld, trick: Trick, methods: Sequence[str] = METHODS) -> str:
    """Try a trick with every method, and name those that something happened by."""
    who, reached = await login(world, "operator", user="operator"), []
    for method in methods:
        before = effects(world)
        answer = await trick(world, method, who)
        if answer.status == _SEE_OTHER or effects(world) != before:
            reached.append(method)
    return f"it was done: {', '.join(reached)}" if reached else ""


async def _ended(world: AttackWorld) -> str:
    """Send forms of a login that was ended."""
    who = await login(world, "operator", user=f"gone-{world.number()}")
    await revoke(world, who.user)
    return await _tried(world, lambda world, method, _: _without_session(world, method, who))


async def _repeated(world: AttackWorld, *, at_once: bool) -> str:
    """Send the same form four times, one after another or at the same time."""
    who = await login(world, "operator", user="operator")
    fields = form_of(protocol.RELOAD, who, world.number())
    query = "SELECT count(*) FROM audit WHERE actor = 'web:operator' AND act = ?"
    ((before,),) = world.rows(query, protocol.RELOAD)
    async with anyio.create_task_group() as tasks:
        for _ in range(4):
            again = partial(post, world, f"/act/{protocol.RELOAD}", fields, who)
            if at_once:
                tasks.start_soon(again)
            else:
                await again()
    ((after,),) = world.rows(query, protocol.RELOAD)
    times = int(str(after)) - int(str(before))
    return f"one form was done {times} times" if times != 1 else ""


async def _led_away(world: AttackWorld, back: str) -> str:
    who = await login(world, "operator", user="operator")
    fields = {**form_of(protocol.RELOAD, who, world.number()), "back": back}
    answer = await post(world, f"/act/{protocol.RELOAD}", fields, who)
    place = answer.header("location")
    own = place.startswith("/") and not place.startswith(("//", "/\\"))
    return "" if own and "x-evil" not in answer.head.lower() else f"it leads to {place}"


async def _streamed(world: AttackWorld, site: str) -> str:
    """Listen to the stream of changes from a page of another site."""
    who = await login(world, "operator", user="operator")
    whole = given(world, who, (("Sec-Fetch-Site", site), ("Origin", _EVIL)))
    found = await sent(
        world, request("GET", "/events?at=/", whole), lambda text: "event:" in text or "403" in text
    )
    return "the stream was heard" if "event:" in found.body else ""


_SITES: dict[str, Headers] = {
    "without an Origin": (("Origin", ""),),
    "of a foreign Origin": (("Origin", _EVIL),),
    "of a sandbox": (("Origin", "null"),),
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
    **{name: (GUARD, partial(_by_headers, headers=sites)) for name, sites in _SITES.items()},
    "without its CSRF value": (GUARD, _without_csrf),
    "with an empty CSRF value": (GUARD, partial(_by_csrf, csrf="")),
    "with a wrong CSRF value": (GUARD, partial(_by_csrf, csrf="0" * 32)),
    "with the CSRF value of another login": (GUARD, _with_others_csrf),
    "with its CSRF value in the address": (GUARD, _in_query),
    "by GET": (SEVERAL, partial(_by_verb, verb="GET")),
    "by HEAD": (SEVERAL, partial(_by_verb, verb="HEAD")),
    "by PUT": (SEVERAL, partial(_by_verb, verb="PUT")),
    "by an override of GET": (
        SEVERAL,
        partial(_by_verb, verb="GET", headers=(("X-HTTP-Method-Override", "POST"),)),
    ),
    "as JSON": (SEVERAL, partial(_as_body, kind="application/json", write=json.dumps)),
    "as JSON that claims to be a form": (SEVERAL, partial(_as_body, kind=_FORM, write=json.dumps)),
    "as multipart": (
        SEVERAL,
        partial(_as_body, kind="multipart/form-data; boundary=edge", write=_multipart),
    ),
    "without a session": (SEVERAL, _unknown),
    "of a made-up session": (SEVERAL, _made_up),
    "for two Hosts": (SEVERAL, partial(_by_headers, headers=(("Host", "a"), ("Host", "b")))),
}
_AWAY = (
    *(_EVIL, "//evil.example", "///evil.example", "javascript:alert(1)"),
    *(" //evil.example", "\t//evil.example", "https:evil.example"),
)
ATTACKS = (
    *(
        Attack(f"a form {name}", defence, partial(_tried, trick=trick))
        for name, (defence, trick) in _TRICKS.items()
    ),
    Attack("a form leads to a backslash", SEVERAL, partial(_led_away, back="/\\evil.example")),
    Attack("a form of an ended session", SEVERAL, _ended),
    Attack(
        "a form without its id", SEVERAL, partial(_tried, trick=_without_id, methods=(*NEEDED,))
    ),
    Attack("a form is repeated", DESK, partial(_repeated, at_once=False)),
    Attack("a form is sent four times at once", DESK, partial(_repeated, at_once=True)),
    *(
        Attack(f"a form leads to {quote(back)}", GUARD, partial(_led_away, back=back))
        for back in _AWAY
    ),
    Attack(
        "a form writes a header", SEVERAL, partial(_led_away, back="/turns\r\nX-Evil: 1\r\n\r\n")
    ),
    *(
        Attack(f"the stream of changes is heard from {site}", GUARD, partial(_streamed, site=site))
        for site in ("cross-site", "same-site", "none")
    ),
)
