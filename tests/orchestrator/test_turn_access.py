"""Whose memory a turn has, and which chats it may write to."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fakes.agents_file import WORK, parsed
from fakes.carrier import stand_in
from fakes.journal import job, opened

from orchestrator.agentsfile import AgentsFile, Channels, ChatChannel
from orchestrator.channel_api import InboundMessage
from orchestrator.journal.access import pairing
from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import inbox
from orchestrator.journal.turns.inbox import Arrival
from orchestrator.journal.turns.outbox import Address
from orchestrator.turn_access import (
    build_memory_scope,
    can_write_to_chat,
    find_asked_chat,
    find_folder_scope,
    is_operator_scope,
)

ANY = {"channel": "telegram", "chatId": "*", "agentId": "work"}
NAMED = {"channel": "telegram", "chatId": "42", "agentId": "work"}
GROUP = {"channel": "telegram", "chatId": "-100", "agentId": "work"}
CONSOLE = {"channel": "console", "chatId": "*", "agentId": "work"}
OPEN = {"telegram": {"access": "open"}}


class RoomsOnly(Channels):
    """Channels with another chat platform."""

    rooms: ChatChannel


NOTICES = {"notifyChannel": "telegram", "notifyChatId": "77"}


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    """A journal in which Telegram's chat 9 is paired."""
    with opened(tmp_path) as connection:
        pairing.request_pairing(connection, Address("telegram", "1", "9"), "Ann", "AB12", 1)
        pairing.approve(connection, "AB12", 2)
        yield connection


def file(*bindings: dict[str, str], work: dict[str, Any] | None = None, **rest: Any) -> AgentsFile:
    """One agent, reached by these bindings."""
    with stand_in():
        return parsed(WORK | (work or {}), bindings=[*bindings], **rest).file


@pytest.mark.parametrize(
    ("agents", "joined"),
    [
        (file(NAMED), True),
        (file(NAMED, GROUP, CONSOLE), True),
        (file(ANY), False),
        (file(NAMED, {**ANY, "channel": "web"}), False),
        (file(NAMED, channels=OPEN), False),
        (file(NAMED, channels={"telegram": {"access": "open", "enabled": False}}), True),
        (file(CONSOLE, channels=OPEN), True),
        (file(NAMED, fallbackAgentId="work"), False),
        (file(NAMED, work={"port": 0}), False),
        (file(ANY, work={"memory": "agent"}), True),
        (file(ANY, work={"memory": "agent"}, channels=OPEN), True),
        (file(NAMED, work={"memory": "person"}), False),
    ],
)
def test_chats_share_a_memory_if_strangers_cannot_come(
    db: Database, agents: AgentsFile, *, joined: bool
) -> None:
    """Unless the setting decides."""
    assert agents.joins_chats("work") is joined
    assert build_memory_scope(agents, db, "work", "console:local").joined is joined


def test_only_an_operators_chats_share_a_memory_by_default(db: Database) -> None:
    """In a group others read, and an agent that takes strangers may have handed a chat over."""
    home = {**WORK, "agentId": "home"}
    bindings = [NAMED, GROUP, {**ANY, "agentId": "home"}]
    scopes = ("telegram:42", "telegram:9", "", "api:")
    others = ("telegram:666", "telegram:-100", "http:42", "api:ann", "console:task-1")
    with stand_in():
        agents = parsed(WORK, home, bindings=bindings).file
    joined = [
        name for name in scopes + others if build_memory_scope(agents, db, "work", name).joined
    ]
    assert joined == list(scopes)
    with stand_in():
        agents = parsed(WORK | {"memory": "agent"}, home, bindings=bindings).file
    assert all(build_memory_scope(agents, db, "work", name).joined for name in scopes + others)


def test_unknown_agent_shares_nothing(db: Database) -> None:
    """It may have been removed while its turn waited."""
    memory = build_memory_scope(file(NAMED), db, "gone", "telegram:666")
    assert (memory.joined, memory.shared) == (False, False)


@pytest.mark.parametrize(
    ("scope", "own"),
    [
        ("", True),
        ("console:local", True),
        ("telegram:42", True),
        ("telegram:5", True),
        ("telegram:9", True),
        ("telegram:666", False),
        ("telegram:-100", False),
        ("telegram:", False),
        ("telegram:٤٢", False),
        ("http:42", False),
        ("api:42", False),
        ("api:", False),
        ("web:42", False),
        ("console:task-7", False),
        ("mcp:operator/c-1", True),
        ("mcp:client/operator/", False),
    ],
)
def test_operators_chats_are_private_and_named(db: Database, scope: str, *, own: bool) -> None:
    """By a binding, the allow-list or a pairing; a group has other readers."""
    agents = file(ANY, NAMED, GROUP, channels={"telegram": {"allowlist": ["5", "-100"]}})
    assert is_operator_scope(agents, db, scope) is own
    assert build_memory_scope(agents, db, "work", scope).shared is own


def test_chat_whose_id_does_not_tell_is_private_while_its_messages_are(
    db: Database,
) -> None:
    """On most platforms a private chat has another id than its person."""
    settings = ChatChannel(allowlist=("@ada:hs",))
    agents = file(ANY).model_copy(update={"channels": RoomsOnly(rooms=settings)})
    assert not is_operator_scope(agents, db, "rooms:!1:hs")
    said = InboundMessage("rooms", "bot", "!1:hs", "1", "@ada:hs", text="hi")
    for number, (sender, private, own) in enumerate(
        (("@ada:hs", True, True), ("@bob:hs", True, False), ("@ada:hs", False, False))
    ):
        arrived = replace(said, message_id=str(number), sender_id=sender, private=private)
        with job(db):
            inbox.ingest(db, [Arrival(arrived)], None, number)
        assert is_operator_scope(agents, db, "rooms:!1:hs") is own


def test_pairing_makes_no_operator_while_everybody_is_let_in(db: Database) -> None:
    """As for commands."""
    assert is_operator_scope(file(ANY), db, "telegram:9")
    assert not is_operator_scope(file(ANY, channels=OPEN), db, "telegram:9")


def test_only_an_operators_turn_writes_to_other_chats(db: Database) -> None:
    """And only to chats that the operator has named."""
    agents = file(ANY, NAMED, GROUP, channels=OPEN, work={"costControls": NOTICES})
    reached = {
        scope: [
            chat
            for chat in ("42", "-100", "77", "666", "667")
            if can_write_to_chat(
                agents, build_memory_scope(agents, db, "work", scope), db, "telegram", chat
            )
        ]
        for scope in ("telegram:42", "telegram:666", "telegram:-100", "api:42", "")
    }
    assert reached == {
        "telegram:42": ["42", "-100", "77"],
        "telegram:666": ["666"],
        "telegram:-100": ["-100"],
        "api:42": [],
        "": ["42", "-100", "77"],
    }


def test_shared_memory_lets_a_turn_write_to_every_known_chat(db: Database) -> None:
    """As far as the chat has written to the agent, which the tool checks."""
    agents = file(NAMED)
    memory = build_memory_scope(agents, db, "work", "telegram:42")
    assert can_write_to_chat(agents, memory, db, "telegram", "43")


@pytest.mark.parametrize(
    ("agents", "scope", "folder"),
    [
        (file(ANY, channels=OPEN), "telegram:5", "telegram:5"),
        (file(ANY, channels=OPEN), "telegram:-100", "telegram:-100"),
        (file({**ANY, "channel": "api"}), "api:ann", "api:ann"),
        (file({**ANY, "channel": "api"}), "api:", "api:"),
        (file(NAMED, GROUP), "telegram:-100", "telegram:-100"),
        (file(NAMED, CONSOLE), "telegram:42", ""),
        (file(ANY, channels=OPEN), "console:kitchen", ""),
        (file(ANY, channels=OPEN), "mcp:operator/desk", ""),
        (file({**ANY, "channel": "web"}), "web:operator/tea", ""),
        (file({**ANY, "channel": "web"}), "web:ann/tea", "web:ann/tea"),
        (file(ANY, channels=OPEN), "", ""),
        (file(ANY, channels=OPEN, work={"memory": "agent"}), "telegram:5", ""),
        (file(NAMED, CONSOLE), "api:", ""),
    ],
)
def test_chats_share_a_folder_as_they_share_memory(
    db: Database, agents: AgentsFile, scope: str, folder: str
) -> None:
    """A stranger and a group have their own; the operator's stays the folder of the agent."""
    assert find_folder_scope(build_memory_scope(agents, db, "work", scope)) == folder


def wrote(db: Database, chat: str, sender: str, *, private: bool = True) -> Address:
    """Let a person write to the agent in a chat, and return its address."""
    number = int(db.execute("SELECT coalesce(max(update_id), 0) + 1 FROM inbox").get)
    message = InboundMessage("telegram", "1", chat, str(number), sender, "hi", number)
    message = replace(message, private=private)
    with job(db):
        inbox.ingest(db, [Arrival(message)], None, 1)
        db.execute("UPDATE inbox SET agent_id = 'work' WHERE update_id = ?", (number,))
    return inbox.make_address(message)


def asked(db: Database, origin: Address, agents: AgentsFile) -> str | None:
    """Return the id of the chat that is asked about a call."""
    found = find_asked_chat(agents, "work", db, origin)
    return None if found is None else found.chat_id


def test_a_question_goes_where_it_may_be_answered(db: Database) -> None:
    """The chat itself if its people may; else an operator's, who has ever written; else none."""
    talk = {"channels": {"telegram": {"allowlist": ["7", "8"], "roles": {"7": "talk"}}}}
    guest = wrote(db, "7", "7")
    assert asked(db, guest, file(ANY, **talk)) is None
    wrote(db, "8", "8")
    assert asked(db, guest, file(ANY, **talk)) == "8"
    approve = {"channels": {"telegram": {"allowlist": ["7", "8"], "roles": {"7": "approve"}}}}
    assert asked(db, guest, file(ANY, **approve)) == "7"
    assert asked(db, Address("console", "", "main"), file(ANY, **talk)) == "main"


def test_a_group_is_asked_if_one_of_its_writers_may_decide(db: Database) -> None:
    """Its own name, which its administrators write in, does not count."""
    listed = {"channels": {"telegram": {"allowlist": ["8"]}}}
    wrote(db, "8", "8")
    group = wrote(db, "-100", "5", private=False)
    wrote(db, "-100", "-100", private=False)
    assert asked(db, group, file(GROUP, **listed)) == "8"
    trusted: Any = {**GROUP, "role": "approve"}
    assert asked(db, group, file(trusted, **listed)) == "-100"
    wrote(db, "-100", "8", private=False)
    assert asked(db, group, file(GROUP, **listed)) == "-100"


def test_a_paired_guest_is_no_operator(db: Database) -> None:
    """Its chat shares no memory with others; a pairing from before roles does."""
    guests, scope = file(NAMED, work={"memory": None}), "telegram:9"
    assert is_operator_scope(guests, db, scope)
    pairing.change_role(db, "telegram", "9", "talk", 3)
    assert not is_operator_scope(guests, db, scope)
    db.execute("UPDATE pairing SET role = NULL")
    assert is_operator_scope(guests, db, scope)
