"""The people on the page."""

from pathlib import Path

from fakes.control_server import STATUS
from fakes.page import page_bench
from fakes.screens import NOW, html, request
from pydantic import JsonValue

from orchestrator.control import protocol
from orchestrator.control.agent_report import AgentReport
from orchestrator.extensions.page.daemon_side.page_protocol import (
    DASHBOARD_INVITE,
    PageAddress,
    PageSession,
)
from orchestrator.extensions.page.screens import people_list
from orchestrator.extensions.page.screens.known_agents import KnownAgents
from orchestrator.extensions.page.setup_answers import ListedPerson
from thinker.protocol.peer import Params

WAITING = ListedPerson(
    channel="telegram",
    chat_id="9",
    name="Bob <b>",
    state="pending",
    code="K7QM2ABX",
    first="Let me in",
    at=NOW / 1000 - 120,
)
PAIRED = ListedPerson(
    channel="telegram", chat_id="7", name="Ann", state="paired", role="approve", agent_id="home"
)
BOUND = ListedPerson(channel="slack", chat_id="C1", state="bound", role="talk", agent_id="work")
AGENT = AgentReport(
    agent_id="home", state="running", pid=1, restarts=0, provider="groq", model="big"
)
WORK = AGENT.model_copy(update={"agent_id": "work"})
SESSION = PageSession(
    id="abc", user="ann", role="chat", agents=("home",), made=1.0, last=NOW / 1000, label="Firefox"
)


def test_stranger_is_decided_by_what_was_written() -> None:
    """Name, first message, code and age; with a role and an agent, or refused."""
    page = html(
        people_list.render_people(request(), [WAITING], [], KnownAgents(("home", "work"))).content
    )
    for word in ("Bob &lt;b&gt; asks to write", "Let me in", "K7QM2ABX", "2 min ago", "Refuse"):
        assert word in page
    assert 'name="agentId"' in page
    assert "everything" in page


def test_approvers_let_in_but_not_as_operators() -> None:
    """They choose no agent and see no one else."""
    page = html(
        people_list.render_people(
            request("approver"), [WAITING], [], KnownAgents(("home",))
        ).content
    )
    assert "Let in" in page
    assert 'name="agentId"' not in page
    assert 'value="operate"' not in page
    assert "This page" not in page


def test_chats_show_their_role_and_can_lose_it() -> None:
    """One of agents.json is changed there."""
    page = html(
        people_list.render_people(
            request(), [PAIRED, BOUND], [SESSION], KnownAgents(("home",))
        ).content
    )
    assert page.count("<summary>Revoke") == 1
    assert "in agents.json" in page
    assert "Firefox" in page
    assert 'value="approve" selected' in page


async def test_invitation_is_shown_once_as_a_link(tmp_path: Path) -> None:
    """A wrong name comes back with the reason, and invites no one."""
    invited: list[JsonValue] = []

    async def invite(params: JsonValue) -> Params:
        invited.append(params)
        return PageAddress(url="http://orchestrator.localhost:8485/in#c0de")

    async def report_agents(_: JsonValue) -> Params:
        return STATUS.model_copy(update={"agents": (AGENT, WORK)})

    async with page_bench(tmp_path) as bench:
        bench.answers |= {DASHBOARD_INVITE: invite, protocol.STATUS: report_agents}
        person = await bench.login()
        wrong = await person.post("/people", {"do": "invite", "user": "not a name", "role": "chat"})
        assert "Use letters, digits" in wrong.text
        strange = {"do": "invite", "user": "bob", "role": "viewer", "agents": "home, nowhere"}
        told = (await person.post("/people", {**strange, "once": "form-0003"})).text
        assert "No agent is called nowhere; there are home, work." in told
        assert 'value="home, nowhere"' in told
        assert 'value="viewer" selected' in told
        assert invited == []
        fields = {"do": "invite", "user": "bob", "role": "chat", "agents": "home, work"}
        answer = await person.post("/people", {**fields, "once": "form-0002"})
        assert "/in#c0de" in answer.text
        assert "Send this link to bob" in answer.text
        assert "within 24 hours, and only in a browser on this machine" in answer.text
        assert isinstance(invited[0], dict)
        assert invited[0]["agents"] == ["home", "work"]
        assert "c0de" not in (await person.get("/people")).text


async def test_approver_sees_who_waits(tmp_path: Path) -> None:
    """From the pairings alone, which that role may read."""

    async def list_pairings(_: JsonValue) -> Params:
        report = protocol.PairingReport(
            channel="telegram",
            chat_id="9",
            name="Bob",
            code="K7QM2ABX",
            state="pending",
            created_at=NOW / 1000,
        )
        return protocol.PairingList(pairings=(report,))

    async with page_bench(tmp_path) as bench:
        bench.answers[protocol.PAIR_LIST] = list_pairings
        person = await bench.login("approver")
        assert "Bob asks to write" in (await person.get("/people")).text


async def test_chat_may_do_everything_only_after_a_question(tmp_path: Path) -> None:
    """Other roles are given at once, and the list says that it was done."""

    async def change_role(params: JsonValue) -> Params:
        given.append(params)
        return protocol.Ack()

    given: list[JsonValue] = []
    chat = {"channel": "telegram", "chatId": "7"}
    async with page_bench(tmp_path) as bench:
        bench.answers[protocol.PAIR_ROLE] = change_role
        person = await bench.login()
        fields = {"do": "role", **chat, "role": "operate"}
        assert "Yes, everything" in (await person.post("/people", fields)).text
        assert given == []
        sure = {**fields, "sure": "yes", "once": "form-0002"}
        assert (await person.post("/people", sure)).status_code == 303
        answer = await person.post("/people", {**fields, "role": "talk", "once": "form-0003"})
        assert answer.headers["location"] == "/people?done=role"
        assert given == [{**chat, "role": "operate"}, {**chat, "role": "talk"}]
        assert "was changed" in (await person.get("/people?done=role")).text
        wrong = {"do": "role", "role": "king", "once": "form-0004"}
        assert (await person.post("/people", wrong)).status_code == 400


def test_refused_chat_can_be_let_in_again() -> None:
    """And refusing or revoking asks first."""
    refused = ListedPerson(channel="telegram", chat_id="8", name="Eve", state="refused")
    page = html(
        people_list.render_people(request(), [refused, PAIRED, WAITING], [], KnownAgents()).content
    )
    assert page.count("Let in again") == 1
    assert "Yes, revoke" in page
    assert "Yes, refuse" in page
