"""Attacks on the login to the page: codes, cookies, host names, a proxy's claims."""

from collections.abc import Awaitable, Callable
from contextlib import closing
from functools import partial
from http import HTTPStatus

import anyio
import apsw

from orchestrator.extensions.page.login import COOKIE, MAX_WRONG_CODES, SECURE_COOKIE
from orchestrator.extensions.selftest.attacks.attack_world import (
    PERSON,
    PROXIED,
    SEVERAL,
    Attack,
    AttackWorld,
)
from orchestrator.extensions.selftest.attacks.page_forms import GUARD
from orchestrator.extensions.selftest.attacks.raw_page import (
    Headers,
    PageAnswer,
    build_request,
    complete_headers,
    enter_code,
    get_page,
    invite_guest,
    log_in,
    open_page,
    parse_token,
    send_bytes,
)

_CODES = "codes of the page let in once"
_APART = "wrong codes are counted apart from right ones"
_PROXY = "the word of a proxy counts from it alone"
_WEB = "X-Forwarded-Email"
_HTTPS: Headers = (("X-Forwarded-Proto", "https"),)
_BEHIND: Headers = (("Host", PROXIED), *_HTTPS)
_HOSTS = ("evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "localhost.")
_WRITTEN = (  # values that are not names
    "[::1].evil.example",
    "localhost@evil.example",
    "127.0.0.1:80@evil.example",
    "a b",
    "",
    "localhost/",
    "localhost\\evil.example",
    "localhost:80:80",
    "0x7f000001/../",
)


def _is_logged_in(answer: PageAnswer) -> bool:
    """Return whether an answer is a screen for logged-in users."""
    return answer.status == HTTPStatus.OK and "Log out" in answer.body


async def _request_as_host(world: AttackWorld, host: str) -> str:
    """Request by another host name, as a page does whose name was rebound to this address."""
    who = await log_in(world, "operator", user="operator")
    found = await get_page(world, "/", who, (("Host", host),))
    return f"{host} was served" if _is_logged_in(found) else ""


async def _use_code_twice(world: AttackWorld, *, invited: bool) -> str:
    """Use a code of a link, or of an invitation, for two browsers."""
    code = (await invite_guest(world, "viewer"))[0] if invited else await open_page(world)
    first, second = await enter_code(world, code), await enter_code(world, code)
    if not parse_token(first):
        raise RuntimeError("the code did not let in once")
    return "a code let in twice" if parse_token(second) else ""


async def _use_code_at_once(world: AttackWorld) -> str:
    """Use a code eight times at the same time."""
    code, tokens = await open_page(world), []

    async def use_code() -> None:
        tokens.append(parse_token(await enter_code(world, code)))

    async with anyio.create_task_group() as tasks:
        for _ in range(8):
            tasks.start_soon(use_code)
    return "a code let in twice" if len(list(filter(None, tokens))) > 1 else ""


async def _use_expired_access(world: AttackWorld, table: str) -> str:
    """Use an invitation or a session after its end, which is moved into the past."""
    code, name = await invite_guest(world, "viewer")
    token = parse_token(await enter_code(world, code)) if table == "web_session" else ""
    with closing(apsw.Connection(str(world.settings.paths.journal))) as db:
        db.set_busy_timeout(10_000)  # milliseconds
        db.execute(f"UPDATE {table} SET ends_at = 1 WHERE user = ?", (name,))  # noqa: S608 - two names
    if table == "web_session":
        found = await get_page(world, "/manual", None, (("Cookie", f"{COOKIE}={token}"),))
        return "an ended session was shown a screen" if _is_logged_in(found) else ""
    return "an old invitation let in" if parse_token(await enter_code(world, code)) else ""


async def _guess_codes(world: AttackWorld) -> str:
    """Guess many codes in a short time."""
    statuses = [
        (await enter_code(world, f"{number:032x}")).status for number in range(MAX_WRONG_CODES + 5)
    ]
    slowed = HTTPStatus.TOO_MANY_REQUESTS in statuses
    return "" if slowed else f"{len(statuses)} codes were tried without a wait"


async def _lock_out_operator(world: AttackWorld) -> str:
    """Guess so often that the operator's own code might be refused."""
    code = await open_page(world)
    for number in range(MAX_WRONG_CODES + 5):
        await enter_code(world, f"{number:032x}")
    answer = await enter_code(world, code)
    return "" if parse_token(answer) else f"the operator was answered {answer.status}"


async def _fix_session_token(world: AttackWorld) -> str:
    """Give a browser a token before its login, and use the token afterwards."""
    token = world.make_order_id().encode().hex().zfill(64)[-64:]
    cookie = (("Cookie", f"{COOKIE}={token}"),)
    await enter_code(world, await open_page(world), headers=cookie)
    found = await get_page(world, "/manual", None, cookie)
    return "the session has a token that was given to it" if _is_logged_in(found) else ""


async def _toss_cookie(world: AttackWorld, cookies: str, headers: Headers = ()) -> str:
    """Send the cookie of another login in addition to, or in place of, a browser's own."""
    own, eve = await log_in(world, "operator", user="operator"), await log_in(world, "viewer")
    cookie = cookies.format(own=own.token, eve=eve.token)
    found = await get_page(world, "/manual", None, (("Cookie", cookie), *headers))
    return (
        f"it is the login of {eve.user}" if _is_logged_in(found) and eve.user in found.body else ""
    )


async def _send_two_cookies(world: AttackWorld) -> str:
    own, eve = await log_in(world, "operator", user="operator"), await log_in(world, "viewer")
    pairs = (("Cookie", f"{COOKIE}={eve.token}"), ("Cookie", f"{COOKIE}={own.token}"))
    found = await get_page(world, "/manual", None, pairs)
    return (
        f"it is the login of {eve.user}" if _is_logged_in(found) and eve.user in found.body else ""
    )


async def _claim_identity(world: AttackWorld, headers: Headers) -> str:
    """Claim to be someone whom a proxy has authenticated."""
    await open_page(world)
    found = await send_bytes(
        world, build_request("GET", "/", complete_headers(world, None, headers))
    )
    return f"{PERSON} was let in" if _is_logged_in(found) else ""


async def _find_leaked_words(world: AttackWorld) -> str:
    """Look for details about the daemon in every answer to a stranger."""
    await open_page(world)
    words = ("guarded", "operator", "native", "orchestrator 0", "0.1.0")
    paths = ("/", "/in", "/turns", "/chats/web/local/operator/x/", "/events", "/static/x/y", "/no")
    shown = {path: (await get_page(world, path)).body for path in paths}
    found = [f"{path}: {word}" for path, text in shown.items() for word in words if word in text]
    return f"a stranger is told {', '.join(found)}" if found else ""


_OTHERS: dict[str, tuple[str, Callable[[AttackWorld], Awaitable[str]]]] = {
    "a link lets in twice": (_CODES, partial(_use_code_twice, invited=False)),
    "an invitation lets in twice": (_CODES, partial(_use_code_twice, invited=True)),
    "a link lets in many at once": (_CODES, _use_code_at_once),
    "an old invitation lets in": (_CODES, partial(_use_expired_access, table="web_invite")),
    "an old session goes on": (_CODES, partial(_use_expired_access, table="web_session")),
    "codes are guessed": (_CODES, _guess_codes),
    "guesses lock the operator out": (_APART, _lock_out_operator),
    "a token is given to a browser": (SEVERAL, _fix_session_token),
    "a stranger learns of the daemon": (SEVERAL, _find_leaked_words),
    "a neighbor's cookie comes first": (
        GUARD,
        partial(_toss_cookie, cookies=f"{COOKIE}={{eve}}; {COOKIE}={{own}}"),
    ),
    "a neighbor's cookie comes last": (
        SEVERAL,
        partial(_toss_cookie, cookies=f"{COOKIE}={{own}}; {COOKIE}={{eve}}"),
    ),
    "a neighbor's header has a cookie": (GUARD, _send_two_cookies),
    "a cookie of http counts by https": (
        GUARD,
        partial(_toss_cookie, cookies=f"{COOKIE}={{eve}}", headers=_BEHIND),
    ),
    "a cookie of https counts by http": (
        GUARD,
        partial(_toss_cookie, cookies=f"{SECURE_COOKIE}={{eve}}"),
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
        Attack(f"the page is asked for as {host}", GUARD, partial(_request_as_host, host=host))
        for host in _HOSTS
    ),
    *(
        Attack(f"the page is asked for as {host!r}", SEVERAL, partial(_request_as_host, host=host))
        for host in _WRITTEN
    ),
    *(Attack(name, defence, run) for name, (defence, run) in _OTHERS.items()),
    *(
        Attack(f"a person is claimed {name}", defence, partial(_claim_identity, headers=headers))
        for name, (defence, headers) in _CLAIMS.items()
    ),
)
