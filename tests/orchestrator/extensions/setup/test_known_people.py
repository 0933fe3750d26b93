"""Who may write to the agents, who asks to, and which agent answers them."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from fakes.journal import store_in
from fakes.set_up_home import SetUpHome

from orchestrator.channel_api import InboundMessage
from orchestrator.errors import UnknownAgentError
from orchestrator.extensions.setup.agents_text import AgentsText
from orchestrator.extensions.setup.known_people import MAX_FIRST, KnownPeople
from orchestrator.extensions.setup.setup_requests import KnownPerson
from orchestrator.journal.access import pairing
from orchestrator.journal.access.pairing import CODE_LIFETIME, REFUSED_FOR
from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import inbox
from orchestrator.journal.turns.inbox import Arrival
from orchestrator.journal.turns.outbox import Address
from thinker.protocol.messages import JsonObject
from thinker.protocol.peer import RpcError

DOCUMENT: JsonObject = {
    "agents": [
        {"agentId": "work", "llmProvider": "demo"},
        {"agentId": "home", "llmProvider": "demo"},
    ],
    "bindings": [
        {"channel": "telegram", "chatId": "*", "agentId": "work"},
        {"channel": "telegram", "chatId": "42", "agentId": "home"},
    ],
    "channels": {"telegram": {"allowlist": ["43"], "roles": {"43": "talk"}}},
}


@asynccontextmanager
async def people_in(
    folder: Path, document: JsonObject = DOCUMENT
) -> AsyncIterator[tuple[SetUpHome, KnownPeople]]:
    """The people of a home with two agents, in which Bob waits and Ann is paired."""
    (folder / "agents.json").write_text(json.dumps(document, indent=2), "utf-8")
    store = store_in(folder)
    world = SetUpHome(folder, store=store)
    daemon = await world.start()
    await store.transact(ask_for_admission)
    yield world, KnownPeople(daemon, AgentsText(daemon))
    store.close()


def ask_for_admission(db: Database) -> None:
    """Ann asked and was let in, Bob wrote twice, Eve was refused."""
    for chat, name, code in (("7", "Ann", "AAAA"), ("8", "Bob", "BBBB"), ("9", "Eve", "EEEE")):
        pairing.request_pairing(db, Address("telegram", "b", chat), name, code, 0)
    pairing.approve(db, "AAAA", 1)
    for number, text in enumerate(("first" * MAX_FIRST, "second")):
        said = InboundMessage("telegram", "b", "8", str(number), "8", text, update_id=number)
        inbox.ingest(db, [Arrival(said, "not paired yet", held=True)], None, 1)
    db.execute(
        "UPDATE pairing SET state = 'revoked', code = NULL, decided_at = 1, expires_at = ?"
        " WHERE code = 'EEEE'",
        (1 + REFUSED_FOR,),
    )


async def test_people_are_listed_with_what_decides_about_them(tmp_path: Path) -> None:
    """Who waits comes first, with the beginning of what was said."""
    async with people_in(tmp_path) as (_, people):
        found = (await people.list_people(None)).people
    bob, *others = found
    assert (bob.name, bob.state, bob.code, bob.agent_id) == ("Bob", "pending", "BBBB", "work")
    assert bob.first == ("first" * MAX_FIRST)[:MAX_FIRST]

    def describe(one: KnownPerson) -> tuple[str, str, str | None, str | None]:
        return one.chat_id, one.state, one.role, one.agent_id

    assert sorted(map(describe, others)) == [
        ("42", "bound", "operate", "home"),
        ("43", "bound", "talk", "work"),
        ("7", "paired", "operate", "work"),
        ("9", "refused", None, None),
    ]


async def test_chat_is_let_in_to_the_chosen_agent(tmp_path: Path) -> None:
    """Its binding names the role, or it would have more rights than its pairing."""
    async with people_in(tmp_path) as (world, people):
        done = await people.approve_chat("web:ann", {"code": "bbbb", "agentId": "home"})
        assert (done.chat_id, done.role) == ("8", "talk")
        *_, binding = json.loads(world.text)["bindings"]
        assert binding == {"channel": "telegram", "chatId": "8", "agentId": "home", "role": "talk"}
        found = {one.chat_id: one for one in (await people.list_people(None)).people}
        assert (found["8"].state, found["8"].agent_id) == ("paired", "home")


async def test_wrong_agent_or_code_changes_nothing(tmp_path: Path) -> None:
    """The chat still waits."""
    async with people_in(tmp_path) as (world, people):
        before = world.text
        with pytest.raises(UnknownAgentError, match="choose one of home, work"):
            await people.approve_chat("web:ann", {"code": "BBBB", "agentId": "wrok"})
        with pytest.raises(RpcError, match="no chat has the code"):
            await people.approve_chat("web:ann", {"code": "XXXX", "agentId": "home"})
        assert world.text == before
        assert (await people.list_people(None)).people[0].state == "pending"


async def test_code_that_has_expired_gets_no_binding(tmp_path: Path) -> None:
    """A binding lets a chat in by itself."""
    async with people_in(tmp_path) as (world, people):
        before, world.now = world.text, CODE_LIFETIME + 1
        with pytest.raises(RpcError, match="no chat has the code 'BBBB', or it has expired"):
            await people.approve_chat("web:ann", {"code": "BBBB", "agentId": "home"})
        assert world.text == before


async def test_code_that_does_not_count_gets_no_binding(tmp_path: Path) -> None:
    """The chat system takes only named chats, so the approval is refused before all else."""
    named: JsonObject = {**DOCUMENT, "channels": {"telegram": {"access": "allowlist"}}}
    async with people_in(tmp_path, named) as (world, people):
        before = world.text
        with pytest.raises(RpcError, match="pairings do not count"):
            await people.approve_chat("web:ann", {"code": "BBBB", "agentId": "home"})
        assert world.text == before


async def test_binding_of_a_known_chat_is_changed_in_its_place(tmp_path: Path) -> None:
    """A second one for the same chat would never count."""
    async with people_in(tmp_path) as (world, people):
        await world.store.transact(
            pairing.request_pairing, Address("telegram", "b", "42"), "Zoe", "ZZZZ", 2
        )
        await people.approve_chat("web:ann", {"code": "ZZZZ", "agentId": "work", "role": "approve"})
        bindings = json.loads(world.text)["bindings"]
        assert [one["agentId"] for one in bindings] == ["work", "work"]
        assert bindings[1]["role"] == "approve"
