"""Requests to the attacked page by raw sockets: nothing corrects what an attacker writes."""

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from typing import NamedTuple
from urllib.parse import quote, urlencode

import anyio
from anyio.abc import SocketStream

from orchestrator.control import protocol
from orchestrator.control.connection import open_control_connection
from orchestrator.control.editing import FILE_SAVE, FILE_UNDO
from orchestrator.extensions.page.daemon_side import page_protocol
from orchestrator.extensions.page.daemon_side.page_protocol import PageAddress, PageGuest, Role
from orchestrator.extensions.page.login import COOKIE
from orchestrator.extensions.page.page_app import build_csrf_value
from orchestrator.extensions.page.screens import SCREENS
from orchestrator.extensions.selftest.attacks.attack_world import SETTLED_WITHIN, AttackWorld

ANSWER_SECONDS = 60.0  # an idle machine needs a hundredth; an answer that is late is no lost one
OUT = "out"  # in addition to the methods: logging out
_SAVED = {"base": "", "text": "attacked", "do": "save"}
# Screens that take forms of their own, with valid fields.
POSTED = {
    "texts/prompts/attacked.md": _SAVED,
    "texts/agents.json": _SAVED,
    "settings/form?at=agents/0": _SAVED,
    "settings": {"do": "backup"},
    "setup": {"do": "model", "provider": "demo", "agentId": "described"},
    "people": {"do": "invite", "user": "attacker", "role": "operator"},
    "tasks/new": {
        "name": "attacked",
        "agent": "native",
        "instructions": "attacked",
        "when": "every 2 hours",
        "do": "save",
    },
    "memory/1/forget": {"typed": "forget"},
}
_TOKEN = re.compile(rf"{COOKIE}=([0-9a-f]{{64}})")
_EFFECTS = (
    "SELECT count(*) FROM audit WHERE actor LIKE 'web:%' AND act NOT LIKE 'web:login%'",
    "SELECT count(*) FROM inbox WHERE channel = 'web'",
    "SELECT count(*) FROM approval WHERE state <> 'pending'",
    "SELECT count(*) FROM web_session",
)
# Valid fields of the forms by method; for a method without an entry an id will do.
_SAID = {
    page_protocol.WEB_SEND: {"chat": "{user}/attacked", "text": "hello", "agent": "public"},
    protocol.APPROVAL_DECIDE: {"code": "x", "argsHash": "x", "granted": "true"},
    protocol.AGENT_PAUSE: {"agentId": "native"},
    protocol.AGENT_RESUME: {"agentId": "native"},
    protocol.PAIR_APPROVE: {"code": "1"},
    protocol.PAIR_REVOKE: {"channel": "1", "chatId": "1"},
    protocol.PAIR_ROLE: {"channel": "1", "chatId": "1", "role": "talk"},
    protocol.TOOL_APPROVE: {"name": "1"},
    page_protocol.CALL_SETTLE: {"turnId": "1", "seq": "1", "happened": "1"},
    page_protocol.DASHBOARD_INVITE: {"user": "attacker", "role": "operator"},
    page_protocol.DASHBOARD_REVOKE: {"name": "operator"},
    FILE_SAVE: {"name": "agents.json", "base": "", "text": "{}"},
    FILE_UNDO: {"name": "agents.json"},
    "branches/fork": {"turn": "1"},
    "branches/rewind": {"turn": "1"},
    "setup/model": {"provider": "demo", "agentId": "described"},
    "setup/bot": {"token": "1"},
    "keys/set": {"name": "ATTACKED_API_KEY", "value": "1"},
    "keys/remove": {"name": "ATTACKED_API_KEY"},
    "pair/refuse": {"code": "1"},
    "pair/restore": {"channel": "telegram", "chatId": "1"},
    "budget/extend": {"agentId": "native", "usd": "1"},
    "memory/edit": {"id": "1", "text": "attacked"},
    "profile/set": {"agent": "native", "chat": "", "path": "name", "text": "attacked"},
    **POSTED,
}
_PARAMETER = re.compile(r"\{(\w+)(?::\w+)?\}")
_IDS = {
    "turn": "SELECT id FROM turn ORDER BY rowid DESC LIMIT 12",
    "key": "SELECT chat_key FROM inbox GROUP BY chat_key ORDER BY max(id) DESC LIMIT 12",
    "row": "SELECT id FROM inbox ORDER BY id DESC LIMIT 6",
    "code": "SELECT code FROM approval WHERE state = 'pending'",
    "task": "SELECT id FROM task",
    "text": "SELECT 'tasks/' || id FROM task UNION ALL SELECT 'playbooks/' || id FROM playbook"
    " UNION ALL SELECT 'agents.json'",
}
Headers = Sequence[tuple[str, str]]


class PageLogin(NamedTuple):
    """A session of the page."""

    user: str
    token: str

    @property
    def csrf(self) -> str:
        return build_csrf_value(self.token)


@dataclass(frozen=True)
class PageAnswer:
    """The answer; a status of 0 means none."""

    status: int
    head: str
    body: str

    @property
    def is_done(self) -> bool:
        """Whether it is the answer to a form that had its effect."""
        return self.status == HTTPStatus.SEE_OTHER

    def get_header(self, name: str) -> str:
        found = re.search(rf"^{name}: (.*?)\r?$", self.head, re.IGNORECASE | re.MULTILINE)
        return "" if found is None else found[1]


async def open_page(world: AttackWorld) -> str:
    """Switch the page on and return a code that logs in once."""
    async with open_control_connection(world.settings) as peer:
        ask = partial(peer.call, timeout=SETTLED_WITHIN)
        return _parse_code(await ask(page_protocol.DASHBOARD_OPEN, None, PageAddress))


async def invite_guest(
    world: AttackWorld, role: Role, user: str = "", agents: tuple[str, ...] | None = None
) -> tuple[str, str]:
    """Invite someone; return the code and the name."""
    name = user or f"{role}-{world.make_order_id()}"
    guest = PageGuest(user=name, role=role, agents=agents)
    async with open_control_connection(world.settings) as peer:
        ask = partial(peer.call, timeout=SETTLED_WITHIN)
        return _parse_code(await ask(page_protocol.DASHBOARD_INVITE, guest, PageAddress)), name


async def log_in(
    world: AttackWorld, role: Role, user: str = "", agents: tuple[str, ...] | None = None
) -> PageLogin:
    """Log someone in as a browser does."""
    code, name = await invite_guest(world, role, user, agents)
    token = parse_token(await enter_code(world, code))
    if not token:
        raise RuntimeError("the page let no one in")
    return PageLogin(name, token)


async def revoke_sessions(world: AttackWorld, user: str) -> None:
    """End the sessions of someone."""
    async with open_control_connection(world.settings) as peer:
        name = page_protocol.SessionName(name=user)
        ack = protocol.Ack
        await peer.call(page_protocol.DASHBOARD_REVOKE, name, ack, timeout=SETTLED_WITHIN)


async def enter_code(world: AttackWorld, code: str, *, headers: Headers = ()) -> PageAnswer:
    """Send the form of the login page."""
    return await post_form(world, "/in", {"code": code}, headers=headers)


def parse_token(answer: PageAnswer) -> str:
    """Return the token of a login; empty if no one was let in."""
    found = _TOKEN.search(answer.get_header("set-cookie"))
    return found[1] if found and answer.is_done else ""


async def get_page(
    world: AttackWorld, path: str, who: PageLogin | None = None, headers: Headers = ()
) -> PageAnswer:
    """Open an address."""
    return await send_bytes(
        world, build_request("GET", path, complete_headers(world, who, headers))
    )


async def post_form(
    world: AttackWorld,
    path: str,
    fields: Mapping[str, str],
    who: PageLogin | None = None,
    headers: Headers = (),
) -> PageAnswer:
    """Send a form as the page's own script does; ``headers`` replace those of the same name."""
    site = f"http://localhost:{world.page_port}"
    kind = "application/x-www-form-urlencoded"
    own = (("Origin", site), ("Sec-Fetch-Site", "same-origin"), ("Content-Type", kind))
    replaced = {name.lower() for name, _ in headers}
    kept = [pair for pair in own if pair[0].lower() not in replaced]
    whole = complete_headers(world, who, (*kept, *headers))
    return await send_bytes(world, build_request("POST", path, whole, urlencode(fields).encode()))


def complete_headers(
    world: AttackWorld, who: PageLogin | None, headers: Headers
) -> list[tuple[str, str]]:
    """Return headers with Host and the cookie of a login, unless they have their own.

    An empty value leaves a header out.
    """
    own = [("Host", f"localhost:{world.page_port}")]
    own += [("Cookie", f"{COOKIE}={who.token}")] if who else []
    replaced = {name.lower() for name, _ in headers}
    kept = [pair for pair in own if pair[0].lower() not in replaced]
    return [*kept, *(pair for pair in headers if pair[1])]


def build_request(method: str, path: str, headers: Headers, body: bytes | None = None) -> bytes:
    """Return a request that closes its connection."""
    lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers)]
    if body is not None and not any(name.lower() == "content-length" for name, _ in headers):
        lines.append(f"Content-Length: {len(body)}")
    lines += ["Connection: close", "", ""]
    return "\r\n".join(lines).encode() + (body or b"")


async def send_bytes(
    world: AttackWorld, data: bytes, done: Callable[[str], bool] = lambda _: False
) -> PageAnswer:
    """Send bytes and return the answer until the end, until ``done``, or until the time is up."""
    received = b""
    async with await connect_page(world) as stream:
        with suppress(anyio.BrokenResourceError):
            await stream.send(data)
        with (
            anyio.move_on_after(ANSWER_SECONDS),
            suppress(anyio.EndOfStream, anyio.BrokenResourceError),
        ):
            while not done(received.decode(errors="replace")):
                received += await stream.receive()
    head, _, body = received.decode(errors="replace").partition("\r\n\r\n")
    words = head.split(maxsplit=2)
    return PageAnswer(int(words[1]) if len(words) > 1 else 0, head, body)


async def connect_page(world: AttackWorld) -> SocketStream:
    return await anyio.connect_tcp("127.0.0.1", world.page_port)


def build_form(method: str, who: PageLogin, number: str) -> dict[str, str]:
    """Return all fields of a method's form; ``number`` makes its id."""
    said = _SAID.get(method, {"id": "1"})
    filled = {key: value.replace("{user}", who.user) for key, value in said.items()}
    return {"csrf": who.csrf, "once": f"attack-{number:0>8}", **filled}


def build_path(method: str) -> str:
    return f"/{method}" if method in (OUT, *POSTED) else f"/act/{method}"


def count_effects(world: AttackWorld) -> tuple[object, ...]:
    """Return counts that change with any action on the page except logins."""
    return tuple(world.query_rows(query)[0][0] for query in _EFFECTS)


async def list_done_methods(
    world: AttackWorld, methods: Iterable[str], send: Callable[[str], Awaitable[PageAnswer]]
) -> list[str]:
    """Send the form of each method, and return those that had an effect."""
    methods, before = tuple(methods), count_effects(world)
    answers = [await send(method) for method in methods]
    done = [method for method, answer in zip(methods, answers, strict=True) if answer.is_done]
    if done or count_effects(world) == before:
        return done
    for method in methods:  # once more, one at a time, to tell which it was
        before = count_effects(world)
        await send(method)
        if count_effects(world) != before:
            done.append(method)
    return done or ["one that has no effect alone"]


def list_addresses(world: AttackWorld) -> list[str]:
    """Return the addresses of all screens, with the newest ids of the journal."""
    found = []
    for screen in SCREENS:
        names = _PARAMETER.findall(screen.path)
        ids = _list_newest_ids(world, names[0]) if names else [""]
        found += [_PARAMETER.sub(quote(value), screen.path, count=1) for value in ids]
    return found


def _list_newest_ids(world: AttackWorld, name: str) -> list[str]:
    """Return values for a parameter of addresses; "1" if none is known."""
    rows = world.query_rows(_IDS[name]) if name in _IDS else [("1",)]
    return [str(value) for (value,) in rows]


def _parse_code(address: PageAddress) -> str:
    return address.url.partition("#")[2]
