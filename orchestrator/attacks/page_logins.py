"""Attacks on the way into the page: codes, cookies, names, the word of a proxy."""

from collections.abc import Awaitable, Callable
from contextlib import closing
from functools import partial
from http import HTTPStatus

import anyio
import apsw

from orchestrator.attacks.attack_world import PERSON, PROXIED, SEVERAL, Attack, AttackWorld
from orchestrator.attacks.page_forms import GUARD
from orchestrator.attacks.raw_page import (
    Headers,
    PageAnswer,
    enter,
    entered,
    get,
    given,
    invitation,
    login,
    open_page,
    request,
    sent,
)
from orchestrator.page.login import COOKIE, SECURE_COOKIE, WRONG

_CODES = "codes of the page let in once"
_APART = "wrong codes are counted apart from right ones"
_PROXY = "the word of a proxy counts from it alone"
_WEB = "X-Forwarded-Email"
_HTTPS: Headers = (("X-Forwarded-Proto", "https"),)
_BEHIND: Headers = (("Host", PROXIED), *_HTTPS)
_HOSTS = ("evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "localhost.")
_WRITTEN = (  # which are no names
    *("[::1].evil.example", "localhost@evil.example", "127.0.0.1:80@evil.example", "a b", ""),
    *("localhost/", "localhost\\evil.example", "localhost:80:80", "0x7f000001/../"),
)


def _shows(answer: PageAnswer) -> bool:
    """Return whether an answer is a screen for those who are logged in."""
    return answer.status == HTTPStatus.OK and "Log out" in answer.body


async def _rebound(world: AttackWorld, host: str) -> str:
    """Ask by another name, as a page does whose name was rebound to this address."""
    who = await login(world, "operator", user="operator")
    found = await get(world, "/", who, (("Host", host),))
    return f"{host} was served" if _shows(found) else ""


async def _twice(world: AttackWorld, *, invited: bool) -> str:
    """Use a code of a link, or of an invitation, for two browsers."""
    code = (await invitation(world, "viewer"))[0] if invited else await open_page(world)
    first, second = await enter(world, code), await enter(world, code)
    if not entered(first):
        raise RuntimeError("the code did not let in once")
    return "a code let in twice" if entered(second) else ""


async def _at_once(world: AttackWorld) -> str:
    """Use a code eight times at the same time."""
    code, tokens = await open_page(world), []

    async def once() -> None:
        tokens.append(entered(await enter(world, code)))

    async with anyio.create_task_group() as tasks:
        for _ in range(8):
            tasks.start_soon(once)
    return "a code let in twice" if len(list(filter(None, tokens))) > 1 else ""


async def _expired(world: AttackWorld, table: str) -> str:
    """Use an invitation, or a session, after its end, which is moved into the past."""
    code, name = await invitation(world, "viewer")
    token = entered(await enter(world, code)) if table == "web_session" else ""
    with closing(apsw.Connection(str(world.settings.paths.journal))) as db:
        db.set_busy_timeout(10_000)  # milliseconds
        db.execute(f"UPDATE {table} SET ends_at = 1 WHERE user = ?", (name,))  # noqa: S608 - two names
    if table == "web_session":
        found = await get(world, "/manual", None, (("Cookie", f"{COOKIE}={token}"),))
        return "an ended session was shown a screen" if _shows(found) else ""
    return "an old invitation let in" if entered(await enter(world, code)) else ""


async def _guessed(world: AttackWorld) -> str:
    """Guess many codes in a short time."""
    statuses = [(await enter(world, f"{number:032x}")).status for number in range(WRONG + 5)]
    slowed = HTTPStatus.TOO_MANY_REQUESTS in statuses
    return "" if slowed else f"{len(statuses)} codes were tried without a wait"


async def _locked_out(world: AttackWorld) -> str:
    """Guess so often that the operator's own code might be refused."""
    code = await open_page(world)
    for number in range(WRONG + 5):
        await enter(world, f"{number:032x}")
    answer = await enter(world, code)
    return "" if entered(answer) else f"the operator was answered {answer.status}"


async def _fixed(world: AttackWorld) -> str:
    """Give a browser a token before it logs in, and use it after."""
    token = world.number().encode().hex().zfill(64)[-64:]
    cookie = (("Cookie", f"{COOKIE}={token}"),)
    await enter(world, await open_page(world), headers=cookie)
    found = await get(world, "/manual", None, cookie)
    return "the session has a token that was given to it" if _shows(found) else ""


async def _tossed(world: AttackWorld, cookies: str, headers: Headers = ()) -> str:
    """Put the cookie of another login beside, or in place of, that of a browser."""
    own, eve = await login(world, "operator", user="operator"), await login(world, "viewer")
    cookie = cookies.format(own=own.token, eve=eve.token)
    found = await get(world, "/manual", None, (("Cookie", cookie), *headers))
    return f"it is the login of {eve.user}" if _shows(found) and eve.user in found.body else ""


async def _two_cookies(world: AttackWorld) -> str:
    own, eve = await login(world, "operator", user="operator"), await login(world, "viewer")
    pairs = (("Cookie", f"{COOKIE}={eve.token}"), ("Cookie", f"{COOKIE}={own.token}"))
    found = await get(world, "/manual", None, pairs)
    return f"it is the login of {eve.user}" if _shows(found) and eve.user in found.body else ""


async def _told(world: AttackWorld, headers: Headers) -> str:
    """Claim to be someone whom a proxy has authenticated."""
    await open_page(world)
    found = await sent(world, request("GET", "/", given(world, None, headers)))
    return f"{PERSON} was let in" if _shows(found) else ""


async def _revealed(world: AttackWorld) -> str:
    """Look for words about the daemon in all that a stranger is answered."""
    await open_page(world)
    words = ("guarded", "operator", "native", "orchestrator 0", "0.1.0")
    paths = ("/", "/in", "/turns", "/chats/web/local/operator/x/", "/events", "/static/x/y", "/no")
    shown = {path: (await get(world, path)).body for path in paths}
    found = [f"{path}: {word}" for path, text in shown.items() for word in words if word in text]
    return f"a stranger is told {', '.join(found)}" if found else ""


_OTHERS: dict[str, tuple[str, Callable[[AttackWorld], Awaitable[str]]]] = {
    "a link lets in twice": (_CODES, partial(_twice, invited=False)),
    "an invitation lets in twice": (_CODES, partial(_twice, invited=True)),
    "a link lets in many at once": (_CODES, _at_once),
    "an old invitation lets in": (_CODES, partial(_expired, table="web_invite")),
    "an old session goes on": (_CODES, partial(_expired, table="web_session")),
    "codes are guessed": (_CODES, _guessed),
    "guesses lock the operator out": (_APART, _locked_out),
    "a token is given to a browser": (SEVERAL, _fixed),
    "a stranger learns of the daemon": (SEVERAL, _revealed),
    "a neighbor's cookie comes first": (
        GUARD,
        partial(_tossed, cookies=f"{COOKIE}={{eve}}; {COOKIE}={{own}}"),
    ),
    "a neighbor's cookie comes last": (
        SEVERAL,
        partial(_tossed, cookies=f"{COOKIE}={{own}}; {COOKIE}={{eve}}"),
    ),
    "a neighbor's header has a cookie": (GUARD, _two_cookies),
    "a cookie of http counts by https": (
        GUARD,
        partial(_tossed, cookies=f"{COOKIE}={{eve}}", headers=_BEHIND),
    ),
    "a cookie of https counts by http": (
        GUARD,
        partial(_tossed, cookies=f"{SECURE_COOKIE}={{eve}}"),
    ),
}
_CLAIMS: dict[str, tuple[str, Headers]] = {
    "for a local name": (_PROXY, (*_HTTPS, (_WEB, PERSON))),
    "by http": (SEVERAL, (("Host", PROXIED), (_WEB, PERSON))),
    "by a wrong scheme": (
        SEVERAL,
        (("Host", PROXIED), ("X-Forwarded-Proto", "http"), (_WEB, PERSON)),
    ),
    "twice": (_PROXY, (*_BEHIND, (_WEB, PERSON), (_WEB, "eve@example.org"))),
    "of no one who is listed": (_PROXY, (*_BEHIND, (_WEB, "eve@example.org"))),
    "of a name in a name": (SEVERAL, (*_BEHIND, (_WEB, f"eve,{PERSON}"))),
    "by another header": (SEVERAL, (*_BEHIND, ("X-Forwarded-User", PERSON))),
    "by an underscore": (SEVERAL, (*_BEHIND, (_WEB.replace("-", "_"), PERSON))),
    "of a name that is not listed": (SEVERAL, (("Host", "x.example"), *_HTTPS, (_WEB, PERSON))),
    "of two schemes": (SEVERAL, (*_BEHIND, ("X-Forwarded-Proto", "http"), (_WEB, PERSON))),
}
ATTACKS = (
    *(
        Attack(f"the page is asked for as {host}", GUARD, partial(_rebound, host=host))
        for host in _HOSTS
    ),
    *(
        Attack(f"the page is asked for as {host!r}", SEVERAL, partial(_rebound, host=host))
        for host in _WRITTEN
    ),
    *(Attack(name, defence, run) for name, (defence, run) in _OTHERS.items()),
    *(
        Attack(f"a person is claimed {name}", defence, partial(_told, headers=headers))
        for name, (defence, headers) in _CLAIMS.items()
    ),
)
