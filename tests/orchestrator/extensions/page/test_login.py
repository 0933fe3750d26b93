"""Who is let in by the word of a proxy, and how a browser is known again."""

from pathlib import Path

import pytest
from fakes.page import PageBench, page_bench
from httpx import AsyncClient, Response

from orchestrator.control import protocol
from orchestrator.extensions.page.daemon_side import page_protocol
from orchestrator.extensions.page.daemon_side.page_protocol import PageAddress
from orchestrator.extensions.page.login import MAX_WRONG_CODES
from orchestrator.extensions.page.page_app import build_csrf_value
from orchestrator.extensions.page.page_settings import PageIdentity, PageSettings
from orchestrator.extensions.page.reads import web_sessions
from orchestrator.extensions.page.reads.web_sessions import MAX_IDENTITY_LOGINS, WebSession

NAME = "page.example"
PROXIED = {"host": NAME, "x-forwarded-proto": "https", "x-forwarded-for": "192.0.2.9"}
FORM = {**PROXIED, "origin": f"https://{NAME}"}


def listed(**users: str) -> PageSettings:
    """Settings with these people."""
    named = {f"{name}@example.org": role for name, role in users.items()}
    identity = PageIdentity.model_validate({"header": "X-Forwarded-Email", "users": named})
    return PageSettings(names=(NAME,), identity=identity)


def by(person: str, **headers: str) -> dict[str, str]:
    """What the proxy sends for someone whom it has authenticated."""
    return {**PROXIED, "x-forwarded-email": f"{person}@example.org", **headers}


async def sessions(bench: PageBench) -> list[WebSession]:
    """Who is logged in."""
    return await bench.store.read(web_sessions.list_sessions, bench.now)


async def link(bench: PageBench) -> str:
    """The code of a link of `orchestrator dashboard`."""
    bench.desk.logins.process.place = 8485
    bench.desk.logins.process.try_listening = lambda: None  # type: ignore[method-assign]  # no real port
    found = await bench.desk.logins.build_methods("operator")[page_protocol.DASHBOARD_OPEN](None)
    assert isinstance(found, PageAddress)
    return found.url.partition("#")[2]


async def test_listed_person_is_let_in_without_a_code(tmp_path: Path) -> None:
    """With the role of agents.json, an ordinary cookie and an entry in the audit log."""
    async with page_bench(tmp_path) as bench:
        bench.web = listed(ann="approver")
        browser = bench.browser()
        first = await browser.get("/inbox", headers=by("Ann"))
        assert first.status_code == 200
        assert "__Host-orchestrator=" in first.headers["set-cookie"]
        assert "Path=/; SameSite=strict; Secure" in first.headers["set-cookie"]
        (session,) = await sessions(bench)
        assert (session.user, session.role) == ("ann@example.org", "approver")
        assert (session.label or "").startswith("192.0.2.9 ")
        kept = await bench.store.read(
            lambda db: db.execute("SELECT actor, act FROM audit").fetchall()
        )
        assert kept == [("web:ann@example.org", "web:login:approver")]


async def entered(browser: AsyncClient, person: str) -> str:
    """The token of someone whom the proxy lets in; their browser keeps it."""
    answer = await browser.get("/manual", headers=by(person))
    token = answer.headers["set-cookie"].partition("=")[2].partition(";")[0]
    browser.cookies.clear()
    return str(token)


def cookie(token: str, **headers: str) -> dict[str, str]:
    """A header with the cookie that a browser would send."""
    return {"cookie": f"__Host-orchestrator={token}", **headers}


async def test_cookie_is_used_again(tmp_path: Path) -> None:
    """One login, however many requests; without the header it is a login like any other."""
    async with page_bench(tmp_path) as bench:
        bench.web = listed(ann="operator")
        browser = bench.browser()
        token = await entered(browser, "ann")
        again = await browser.get("/", headers={**by("ann"), **cookie(token)})
        assert (again.status_code, "set-cookie" in again.headers) == (200, False)
        assert (await browser.get("/", headers={**PROXIED, **cookie(token)})).status_code == 200
        assert len(await sessions(bench)) == 1


@pytest.mark.parametrize(
    "headers",
    [
        by("eve"),
        {**by("ann"), "x-forwarded-proto": "http"},
        {**by("ann"), "host": "localhost:8485"},
        {**PROXIED, "x-forwarded-user": "ann@example.org"},
        by("ann@example.org,"),
        by(""),
    ],
)
async def test_no_one_else_is_let_in(tmp_path: Path, headers: dict[str, str]) -> None:
    """Not by http, by a local name, by another header, nor without being listed."""
    async with page_bench(tmp_path) as bench:
        bench.web = listed(ann="operator")
        answer = await bench.browser().get("/", headers=headers)
        assert answer.status_code in (401, 403)
        assert "set-cookie" not in answer.headers
        assert await sessions(bench) == []


async def test_person_who_is_not_listed_is_told_so(tmp_path: Path) -> None:
    """With the setting; what the proxy says is shown as text."""
    async with page_bench(tmp_path) as bench:
        bench.web = listed(ann="operator")
        answer = await bench.browser().get("/", headers=by("<b>eve"))
        assert "identifies you as &lt;b&gt;eve@example.org, who is not in" in answer.text
        assert "channels.web.identity.users" in answer.text


async def test_someone_else_at_the_proxy_does_not_go_on_in_a_login(tmp_path: Path) -> None:
    """A browser that two people use has the cookie of the first."""
    async with page_bench(tmp_path) as bench:
        bench.web = listed(ann="operator", bob="viewer")
        browser = bench.browser()
        token = await entered(browser, "ann")
        form = {"csrf": build_csrf_value(token), "once": "form-0001"}
        acted = await browser.post(
            f"/act/{protocol.RELOAD}", data=form, headers={**by("bob"), **FORM, **cookie(token)}
        )
        assert (acted.status_code, bench.acts) == (401, [])
        shown = await browser.get("/manual", headers={**by("bob"), **cookie(token)})
        assert "bob@example.org" in shown.text
        unlisted = await browser.get("/manual", headers={**by("eve"), **cookie(token)})
        assert unlisted.status_code == 401


async def test_login_by_a_code_is_kept_behind_the_proxy(tmp_path: Path) -> None:
    """The code is the stronger word."""
    async with page_bench(tmp_path) as bench:
        bench.web = listed(bob="viewer")
        browser = bench.browser()
        answer = await browser.post("/in", data={"code": await link(bench)}, headers=FORM)
        token = answer.headers["set-cookie"].partition("=")[2].partition(";")[0]
        browser.cookies.clear()
        page = await browser.get("/", headers={**by("bob"), **cookie(token)})
        assert "operator" in page.text
        assert [session.user for session in await sessions(bench)] == ["operator"]


@pytest.mark.parametrize("later", [listed(bob="viewer"), listed(ann="viewer"), PageSettings()])
async def test_login_ends_with_its_place_in_the_list(tmp_path: Path, later: PageSettings) -> None:
    """Also when only the role differs: the next request gets the new one."""
    async with page_bench(tmp_path) as bench:
        bench.web = listed(ann="operator", bob="viewer")
        browser = bench.browser()
        ann, bob = await entered(browser, "ann"), await entered(browser, "bob")
        bench.web = later
        form = {"csrf": build_csrf_value(ann), "once": "form-0001"}
        acted = await browser.post(
            f"/act/{protocol.RELOAD}", data=form, headers={**FORM, **cookie(ann)}
        )
        assert (acted.status_code, bench.acts) == (409, [])
        await bench.desk.logins.identities.end_unlisted_sessions()
        assert (await browser.get("/", headers={**PROXIED, **cookie(ann)})).status_code == 401
        kept = (await browser.get("/", headers={**PROXIED, **cookie(bob)})).status_code == 200
        assert kept is ("bob@example.org" in (later.identity.users if later.identity else ()))


async def test_browser_that_keeps_no_cookie_has_few_logins(tmp_path: Path) -> None:
    """The oldest end."""
    async with page_bench(tmp_path) as bench:
        bench.web = listed(ann="viewer", bob="viewer")
        browser = bench.browser()
        await entered(browser, "bob")
        for _ in range(MAX_IDENTITY_LOGINS + 3):
            newest = await entered(browser, "ann")
        found = [session.user for session in await sessions(bench)]
        assert found.count("ann@example.org") == MAX_IDENTITY_LOGINS
        assert found.count("bob@example.org") == 1
        assert (await browser.get("/", headers={**PROXIED, **cookie(newest)})).status_code == 200


async def test_stream_and_forms_let_no_one_in(tmp_path: Path) -> None:
    """Only a screen does: a form of another login would do nothing anyway."""
    async with page_bench(tmp_path) as bench:
        bench.web = listed(ann="operator")
        browser = bench.browser()
        assert (await browser.get("/events", headers=by("ann"))).status_code == 401
        sent = await browser.post("/out", headers={**by("ann"), **FORM})
        assert sent.status_code == 401
        assert await sessions(bench) == []


def name_of(answer: Response) -> tuple[str, bool, bool]:
    """The name of a cookie that is set, whether it is for /agents, and for https alone."""
    found = answer.headers["set-cookie"]
    return found.partition("=")[0], "Path=/agents;" in found, "Secure" in found


@pytest.mark.parametrize(
    ("path", "headers", "expected"),
    [
        ("", {"origin": "http://localhost:8485"}, ("orchestrator", False, False)),
        ("/agents", {"origin": "http://localhost:8485"}, ("orchestrator", True, False)),
        ("", FORM, ("__Host-orchestrator", False, True)),
        ("/agents", FORM, ("__Secure-orchestrator", True, True)),
    ],
)
async def test_cookie_is_as_narrow_as_the_way(
    tmp_path: Path, path: str, headers: dict[str, str], expected: tuple[str, bool, bool]
) -> None:
    """By https for it alone; below a path for that path. Logging out takes it back."""
    async with page_bench(tmp_path) as bench:
        bench.web = PageSettings(names=(NAME,), path=path)
        browser = bench.browser()
        answer = await browser.post(f"{path}/in", data={"code": await link(bench)}, headers=headers)
        assert answer.headers["location"] == f"{path}/"
        assert name_of(answer) == expected
        token = answer.headers["set-cookie"].partition("=")[2].partition(";")[0]
        browser.cookies.clear()
        own = {**headers, "cookie": f"{expected[0]}={token}"}
        assert (await browser.get(f"{path}/", headers=own)).status_code == 200
        out = await browser.post(f"{path}/out", data={"csrf": build_csrf_value(token)}, headers=own)
        assert name_of(out) == expected


@pytest.mark.parametrize(
    "cookies",
    [
        "orchestrator={0}",
        "__Secure-orchestrator={0}",
        "__Host-orchestrator={0}; __Host-orchestrator={1}",
        "__Host-orchestrator={1}; __Host-orchestrator={0}",
        "__Host-orchestrator=x{0}",
    ],
)
async def test_cookie_that_a_neighbor_may_have_set_does_not_count(
    tmp_path: Path, cookies: str
) -> None:
    """By https the one that only this host can set, and it alone."""
    async with page_bench(tmp_path) as bench:
        person, other = await bench.login(), await bench.login()
        sent = {**PROXIED, "cookie": cookies.format(person.token, other.token)}
        assert (await bench.browser().get("/", headers=sent)).status_code == 401
        right = {**PROXIED, "cookie": f"a=b; __Host-orchestrator={person.token}; c=d"}
        assert (await bench.browser().get("/", headers=right)).status_code == 200


async def test_right_code_is_taken_after_many_wrong_ones(tmp_path: Path) -> None:
    """No one's guesses lock out the holder of the link."""
    async with page_bench(tmp_path) as bench:
        browser, headers = bench.browser(), {"origin": "http://localhost:8485"}
        code = await link(bench)
        for _ in range(MAX_WRONG_CODES):
            answer = await browser.post("/in", data={"code": "x"}, headers=headers)
            assert answer.status_code == 401
        again = await browser.post("/in", data={"code": "x"}, headers=headers)
        assert again.status_code == 429
        entered = await browser.post("/in", data={"code": code}, headers=headers)
        assert entered.status_code == 303
