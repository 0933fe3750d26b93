"""The page's routes, over a real journal and the supervisor's side of it."""

from pathlib import Path

import anyio
import htpy as h
import pytest
from fakes.page import NOW, ORIGIN, page_bench
from fakes.time_limit import time_limit
from pydantic import JsonValue

from orchestrator.control import protocol
from orchestrator.control.editing import FILE_CHECK, FILE_SAVE, MAX_TEXT, FileEdit
from orchestrator.control.roles import ROLES, Right
from orchestrator.errors import QueryTimeoutError
from orchestrator.extensions.page.daemon_side import page_protocol
from orchestrator.extensions.page.daemon_side.page_access import (
    READ_METHODS,
    REQUIRED_RIGHTS,
    can_call_method,
)
from orchestrator.extensions.page.daemon_side.page_protocol import WEB_SEND
from orchestrator.extensions.page.login import MAX_WRONG_CODES
from orchestrator.extensions.page.reads import web_sessions
from orchestrator.extensions.page.reads.web_sessions import MAX_AGE_MS, MAX_IDLE_MS
from orchestrator.extensions.page.screen_request import PageScreen, ScreenRequest, ScreenResult
from orchestrator.extensions.page.screens import SCREENS
from orchestrator.journal.db import audit

FORMS = {
    WEB_SEND: {"chat": "ann/x", "text": "hello"},
    protocol.APPROVAL_DECIDE: {"code": "x", "granted": "true", "argsHash": "h"},
    protocol.PAIR_APPROVE: {"code": "x"},
    protocol.PAIR_REVOKE: {"channel": "telegram", "chatId": "1"},
    protocol.TOOL_APPROVE: {"name": "a/b"},
    page_protocol.CALL_SETTLE: {"turnId": "t", "seq": "2", "happened": "true"},
    protocol.AGENT_PAUSE: {"agentId": "a"},
    protocol.AGENT_RESUME: {"agentId": "a"},
}
ACTS = tuple(method for method in REQUIRED_RIGHTS if method not in READ_METHODS)
ADDRESSES = [screen.path for screen in SCREENS if "{" not in screen.path]


async def test_stranger_gets_the_login_page_and_nothing_else(tmp_path: Path) -> None:
    """At any address, with no word about the daemon."""
    async with page_bench(tmp_path) as bench:
        for path in (*ADDRESSES, "/events"):
            answer = await bench.browser().get(path)
            assert answer.status_code == 401
            assert "Log in" in answer.text
            assert "demo" not in answer.text
        assert bench.acts == []


async def test_code_of_the_link_lets_in_once(tmp_path: Path) -> None:
    """The second use and an old code are refused; the cookie is for this page alone."""
    async with page_bench(tmp_path) as bench:
        bench.desk.logins.process.place = 8485
        bench.desk.logins.process.try_listening = lambda: None  # type: ignore[method-assign]  # no real port
        link = await bench.desk.logins.build_methods("operator")["dashboard/open"](None)
        code = link.url.partition("#")[2]  # type: ignore[union-attr]  # it is an address
        headers = {"origin": ORIGIN}
        browser = bench.browser()
        entered = await browser.post("/in", data={"code": code}, headers=headers)
        assert (entered.status_code, entered.headers["location"]) == (303, "/")
        assert "HttpOnly" in entered.headers["set-cookie"]
        assert "SameSite=strict" in entered.headers["set-cookie"]
        assert (await browser.get("/")).status_code == 200
        again = await bench.browser().post("/in", data={"code": code}, headers=headers)
        assert again.status_code == 401
        assert "used already" in again.text


async def test_wrong_codes_have_to_wait_after_thirty(tmp_path: Path) -> None:
    """The thirty-first in a minute is not even looked at."""
    async with page_bench(tmp_path) as bench:
        browser, headers = bench.browser(), {"origin": ORIGIN}
        for _ in range(MAX_WRONG_CODES):
            assert (
                await browser.post("/in", data={"code": "x"}, headers=headers)
            ).status_code == 401
        last = await browser.post("/in", data={"code": "x"}, headers=headers)
        assert last.status_code == 429


@pytest.mark.parametrize("role", ROLES)
async def test_each_role_sees_the_screens_of_its_rights(tmp_path: Path, role: str) -> None:
    """All others say which role it is, but where a login leads; all have the same policy."""
    async with page_bench(tmp_path) as bench:
        person = await bench.login(role)
        for screen in SCREENS:
            if "{" in screen.path:
                continue
            answer = await person.get(screen.path)
            allowed = screen.right is None or screen.right in ROLES[role]
            assert (answer.status_code in (200, 303)) is (allowed or screen.path == "/"), (
                screen.path
            )
            assert answer.headers["content-security-policy"].startswith("default-src 'none'")


@pytest.mark.parametrize("role", ROLES)
async def test_each_role_may_do_what_its_rights_say(tmp_path: Path, role: str) -> None:
    """Decided in the supervisor; each form of the page is tried, and each leaves a trace."""
    async with page_bench(tmp_path) as bench:
        person = await bench.login(role)
        for number, method in enumerate(ACTS):
            fields = FORMS.get(method, {"id": "1"})
            answer = await person.act(method, {**fields, "once": f"form-{number:04}"})
            done = any(entry[:2] == ("web:ann", method) for entry in bench.acts)
            assert done is can_call_method(role, method)
            assert answer.status_code == (303 if done else 403)
        kept = await bench.store.read(
            lambda db: {str(act) for (act,) in db.execute("SELECT act FROM audit")}
        )
        assert kept == {method for method in ACTS if can_call_method(role, method)}
        assert await bench.store.read(audit.find_broken_entry) is None


async def test_form_without_the_value_of_its_session_does_nothing(tmp_path: Path) -> None:
    """Neither that of another login, nor one from another site."""
    async with page_bench(tmp_path) as bench:
        person, other = await bench.login(), await bench.login()
        person.token, own = other.token, person.token
        assert (await person.act(protocol.RELOAD, {})).status_code == 403
        person.token = own
        foreign = {"origin": "http://evil.example"}
        assert (await person.act(protocol.RELOAD, {}, **foreign)).status_code == 403
        sites = {"sec-fetch-site": "cross-site"}
        assert (await person.act(protocol.RELOAD, {}, **sites)).status_code == 403
        assert bench.acts == []
        assert (await person.act(protocol.RELOAD, {})).status_code == 303


async def test_same_form_twice_is_done_once(tmp_path: Path) -> None:
    """Its id tells that it is the same."""
    async with page_bench(tmp_path) as bench:
        person = await bench.login()
        for _ in range(2):
            answer = await person.act(protocol.TASK_RUN, {"id": "3", "back": "/tasks"})
            assert answer.headers["location"] == "/tasks"
        assert bench.acts == [("web:ann", protocol.TASK_RUN, {"id": "3"})]


async def test_same_form_twice_at_once_is_done_once(tmp_path: Path) -> None:
    """As by a double click in a browser without scripts; both get the answer."""
    async with page_bench(tmp_path) as bench:
        person, begun, go = await bench.login(), anyio.Event(), anyio.Event()

        async def slow(params: object) -> protocol.Ack:
            del params
            begun.set()
            await go.wait()
            return protocol.Ack()

        bench.answers[protocol.TASK_RUN] = slow
        found: list[int] = []

        async def send() -> None:
            found.append((await person.act(protocol.TASK_RUN, {"id": "3"})).status_code)

        with time_limit():
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(send)
                await begun.wait()
                tasks.start_soon(send)
                await anyio.wait_all_tasks_blocked()
                go.set()
        assert (found, len(bench.acts)) == ([303, 303], 1)


async def test_form_without_its_id_does_nothing(tmp_path: Path) -> None:
    """It would leave no trace."""
    async with page_bench(tmp_path) as bench:
        person = await bench.login()
        answer = await person.act(protocol.TASK_RUN, {"id": "3", "once": ""})
        assert (answer.status_code, bench.acts) == (409, [])
        assert "reload the page" in answer.text


async def test_form_leads_back_to_this_page_alone(tmp_path: Path) -> None:
    """Whatever address it names."""
    async with page_bench(tmp_path) as bench:
        person = await bench.login()
        for number, back in enumerate(("//evil.example", "http://evil.example", "/\\evil", "/a\n")):
            answer = await person.act(protocol.RELOAD, {"back": back, "once": f"form-{number:04}"})
            assert answer.headers["location"] == "/"


async def test_wrong_field_is_named(tmp_path: Path) -> None:
    """And nothing is done: a form is checked where its method is carried out."""
    async with page_bench(tmp_path) as bench:
        person = await bench.login()

        async def run(params: JsonValue) -> protocol.Ack:
            protocol.RowId.model_validate(params)
            return protocol.Ack()

        bench.answers[protocol.TASK_RUN] = run
        answer = await person.act(protocol.TASK_RUN, {"id": "x"})
        assert answer.status_code == 409
        blind = await person.act(protocol.APPROVAL_DECIDE, {"code": "x", "granted": "true"})
        assert "no valid value for argsHash" in blind.text
        assert "no valid value for id" in answer.text
        assert (await person.act("forget", {"agent": "a"})).status_code == 403
        assert [act for _, act, _ in bench.acts] == [protocol.TASK_RUN]


async def test_nothing_is_drawn_anew_until_something_changes(tmp_path: Path) -> None:
    """The same tag until the journal has a commit."""
    async with page_bench(tmp_path) as bench:
        person = await bench.login()
        tag = (await person.get("/")).headers["etag"]
        again = await person.get("/", **{"if-none-match": tag})
        assert (again.status_code, again.text) == (304, "")
        await bench.store.transact(audit.record_decision, "a", "b", "c", NOW)
        assert (await person.get("/", **{"if-none-match": tag})).status_code == 200
        bench.app.feed.record_change()
        assert (await person.get("/")).headers["etag"] != tag


async def test_reading_writes_nothing(tmp_path: Path) -> None:
    """No screen changes the journal."""
    async with page_bench(tmp_path) as bench:
        person = await bench.login()
        before = bench.app.journal.read_version()
        for path in ADDRESSES:
            await person.get(path)
        assert bench.app.journal.read_version() == before


@pytest.mark.parametrize("later", [MAX_IDLE_MS + 1, MAX_AGE_MS + 1])
async def test_login_ends_by_itself(tmp_path: Path, later: int) -> None:
    """After twelve idle hours, and after thirty days."""
    async with page_bench(tmp_path) as bench:
        person = await bench.login()
        bench.now += later
        assert (await person.get("/")).status_code == 401
        assert (await person.act(protocol.RELOAD, {})).status_code == 401


async def test_use_keeps_a_login_alive(tmp_path: Path) -> None:
    """Noted at most once a minute."""
    async with page_bench(tmp_path) as bench:
        person = await bench.login()
        for _ in range(3):
            bench.now += MAX_IDLE_MS - 1
            assert (await person.get("/")).status_code == 200


async def test_logging_out_ends_the_session(tmp_path: Path) -> None:
    """Of this browser."""
    async with page_bench(tmp_path) as bench:
        person = await bench.login()
        page = await person.get("/")
        value = page.text.partition('name="csrf" value="')[2].partition('"')[0]
        out = await person.browser.post("/out", data={"csrf": value}, headers={"origin": ORIGIN})
        assert out.headers["location"] == "/in"
        assert await bench.store.read(web_sessions.list_sessions, bench.now) == []


async def test_files_are_kept_for_a_year_and_old_ones_are_unknown(tmp_path: Path) -> None:
    """Their address says what is in them."""
    async with page_bench(tmp_path) as bench:
        person = await bench.login()
        page = await person.get("/")
        address = page.text.partition('rel="stylesheet" href="')[2].partition('"')[0]
        found = await bench.browser().get(address)
        assert found.headers["cache-control"].endswith("immutable")
        assert found.headers["content-type"].startswith("text/css")
        assert (await bench.browser().get("/static/000000000000/page.css")).status_code == 404


@pytest.mark.parametrize(
    ("role", "agents", "fields", "done"),
    [
        ("chat", None, {"chat": "ann/x"}, True),
        ("chat", None, {"chat": "bob/x"}, False),
        ("chat", None, {"chat": "ann2/x"}, False),
        ("chat", ("home",), {"chat": "ann/x", "agent": "home"}, True),
        ("chat", ("home",), {"chat": "ann/x", "agent": "work"}, False),
        ("chat", ("home",), {"chat": "ann/x"}, False),
        ("operator", None, {"chat": "bob/x"}, True),
        ("approver", None, {"chat": "ann/x"}, False),
        ("operator", None, {"chat": "../x"}, False),
    ],
)
async def test_people_write_in_their_own_chats_to_their_agents(
    tmp_path: Path, role: str, agents: tuple[str, ...] | None, fields: dict[str, str], *, done: bool
) -> None:
    """Decided in the supervisor, whatever the form says."""
    async with page_bench(tmp_path) as bench:
        person = await bench.login(role, agents=agents)
        answer = await person.act(WEB_SEND, {"text": "hello", **fields})
        assert (answer.status_code == 303) is done
        assert bool(bench.acts) is done


async def test_chat_of_someone_else_is_not_shown(tmp_path: Path) -> None:
    """To those who may only chat."""
    async with page_bench(tmp_path) as bench:
        person = await bench.login("chat")
        assert "someone else" in (await person.get("/chats/telegram/1/7/")).text
        assert "someone else" in (await person.get("/chats/web/local/ann2/x/")).text
        assert "someone else" not in (await person.get("/chats/web/local/ann/x/")).text


async def _save_text(request: ScreenRequest) -> ScreenResult:
    """An editor: it shows what it was sent, and saves it if that is asked."""
    text = request.form.get("text", "")
    if request.form.get("save") and request.daemon:
        edit = FileEdit(name="agents.json", base="", text=text)
        await request.daemon.ask_daemon(FILE_SAVE, edit, protocol.Ack)
    return h.p[f"{len(text)} characters by {request.form.get('once', 'a look')}"]


EDITOR = PageScreen("/editor", "Editor", Right.READ, _save_text, "System", posts=True)


async def test_form_of_a_screen_is_answered_by_the_screen(tmp_path: Path) -> None:
    """With what it says; looking at the screen has no fields."""
    async with page_bench(tmp_path, screens=(EDITOR,)) as bench:
        person = await bench.login()
        assert "0 characters by a look" in (await person.get("/editor")).text
        shown = await person.post("/editor", {"text": "hello"})
        assert (shown.status_code, bench.acts) == (200, [])
        assert "5 characters by form-0001" in shown.text
        assert "<nav" in shown.text
        assert "etag" not in shown.headers


async def test_screen_acts_once_for_a_form_that_is_sent_twice(tmp_path: Path) -> None:
    """As the buttons of the page do; without a form it cannot act at all."""
    async with page_bench(tmp_path, screens=(EDITOR,)) as bench:
        person = await bench.login()
        for _ in range(2):
            assert (await person.post("/editor", {"text": "a", "save": "1"})).status_code == 200
        assert [act for _, act, _ in bench.acts] == [FILE_SAVE]
        stale = await person.post("/editor", {"text": "a", "save": "1", "once": ""})
        assert (stale.status_code, len(bench.acts)) == (409, 1)


@pytest.mark.parametrize(("role", "csrf"), [("operator", "x" * 32), ("viewer", "")])
async def test_form_of_a_screen_is_refused_before_the_screen_reads_it(
    tmp_path: Path, role: str, csrf: str
) -> None:
    """Without the value of the session, or the right to see the screen."""
    async with page_bench(tmp_path, screens=(EDITOR,)) as bench:
        person = await bench.login(role)
        fields = {"text": "a", "save": "1", **({"csrf": csrf} if csrf else {})}
        answer = await person.post("/editor", fields)
        assert (answer.status_code, bench.acts) == (403, [])


async def test_screen_without_forms_takes_none(tmp_path: Path) -> None:
    """It is only looked at."""
    async with page_bench(tmp_path) as bench:
        person = await bench.login()
        assert (await person.post("/turns", {})).status_code == 405


@pytest.mark.parametrize(
    ("role", "path", "status"),
    [
        ("operator", "/editor", 200),
        ("operator", f"/act/{FILE_SAVE}", 303),
        ("operator", f"/act/{protocol.RELOAD}", 413),
        ("chat", f"/act/{FILE_SAVE}", 413),
        ("chat", "/editor", 403),
    ],
)
async def test_operators_send_texts_of_a_million_characters(
    tmp_path: Path, role: str, path: str, status: int
) -> None:
    """Where a text is edited; others need no such forms."""
    async with page_bench(tmp_path, screens=(EDITOR,)) as bench:
        person = await bench.login(role)
        answer = await person.post(path, {"text": "語" * MAX_TEXT})
        assert answer.status_code == status


async def _read_for_too_long(request: ScreenRequest) -> ScreenResult:
    del request
    raise QueryTimeoutError


async def test_screen_that_is_cut_off_keeps_its_frame_and_says_what_to_do(tmp_path: Path) -> None:
    """A browser that shows the screen already keeps what it shows, as this is no success."""
    slow = PageScreen(
        "/slow", "Slow", None, _read_for_too_long, "System", when_cut="Choose fewer days."
    )
    async with page_bench(tmp_path, screens=(slow,)) as bench:
        shown = await (await bench.login()).get("/slow")
        assert shown.status_code == 503
        assert "<nav" in shown.text
        assert "<h1>Slow</h1>" in shown.text
        assert "Choose fewer days." in shown.text


async def test_audit_log_has_no_key_and_no_text(tmp_path: Path) -> None:
    """It says who changed which one."""
    async with page_bench(tmp_path) as bench:
        person = await bench.login()
        await person.act("keys/set", {"name": "A_KEY", "value": "hidden-1"})
        await person.act(FILE_SAVE, {"name": "prompts/a", "base": "b", "text": "hidden-2"})
        await person.act("setup/bot", {"token": "hidden-3", "account": "home"})
        await person.act(WEB_SEND, {"chat": "ann/x", "text": "hidden-4", "once": "form-0004"})
        await person.act(FILE_CHECK, {"name": "prompts/a", "base": "b", "text": "hidden-5"})
        kept = await bench.store.read(
            lambda db: [
                f"{act} {about}" for act, about in db.execute("SELECT act, object FROM audit")
            ]
        )
        assert kept == [
            'keys/set {"name":"A_KEY"}',
            'files/save {"name":"prompts/a","base":"b"}',
            'setup/bot {"account":"home"}',
            'web/send {"chat":"ann/x"}',
        ]


async def test_operator_invites_from_the_page(tmp_path: Path) -> None:
    """Under the own name, for agents that a form separates by commas."""
    async with page_bench(tmp_path) as bench:
        person = await bench.login()
        bench.desk.logins.process.place = 8485
        bench.desk.logins.process.try_listening = lambda: None  # type: ignore[method-assign]  # no real port
        bench.answers |= bench.desk.logins.build_methods("web:ann")
        fields = {"user": "bob", "role": "chat", "agents": "home, work"}
        assert (await person.act(page_protocol.DASHBOARD_INVITE, fields)).status_code == 303
        kept = await bench.store.read(
            lambda db: db.execute("SELECT actor, act, object FROM audit").fetchall()
        )
        assert ("web:ann", "web:invite:chat", "bob") in kept
        guests = await bench.store.read(lambda db: db.execute("SELECT agents FROM web_invite").get)
        assert guests == '["home","work"]'
