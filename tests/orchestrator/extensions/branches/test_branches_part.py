"""The page and the command line rewind and fork, each person the own chats."""

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from fakes.branched import BranchedWorld, branched_world

from orchestrator.extensions.branches.branches_part import (
    FORK,
    REWIND,
    BranchesPart,
    BranchReport,
)
from orchestrator.journal.turns.outbox import Address
from orchestrator.placement import Share
from thinker.protocol.peer import RpcError

ANN = Address("web", "local", "ann/1")
BOB = Address("web", "local", "bob/1")


@pytest.fixture
def world(tmp_path: Path) -> Iterator[BranchedWorld]:
    """A journal with logins of Ann, who may chat, and of Olga and Otto, who operate."""
    with branched_world(tmp_path) as made:
        for user, role in (("ann", "chat"), ("olga", "operator"), ("otto", "operator")):
            made.db.execute(
                'INSERT INTO web_session(digest, "user", role, made_at, last_at, ends_at)'
                " VALUES(?, ?, ?, 0, 0, ?)",
                (user, user, role, made.now + 10**9),
            )
        made.db.execute(
            'INSERT INTO web_session(digest, "user", role, made_at, last_at, ends_at)'
            " VALUES('guest', 'otto', 'chat', 0, 0, ?)",
            (made.now + 10**9,),
        )
        yield made


async def ask(
    world: BranchedWorld, method: str, by: str, share: Share | None = None, **asked: Any
) -> Any:
    """The answer of a daemon that works for a share of the agents."""
    daemon: Any = SimpleNamespace(
        store=world.store,
        machine=SimpleNamespace(clock=lambda: world.now, random_bytes=lambda n: b"\x07" * n),
        delivery=SimpleNamespace(wake=lambda: None),
        approvals=SimpleNamespace(wake=lambda: None),
        placement=SimpleNamespace(share=share),
    )
    return await BranchesPart(daemon).list_authored_methods(by)[method](asked)


async def test_fork_is_made_in_the_chat_that_is_asked_for(world: BranchedWorld) -> None:
    """By default on the page; what it begins with is said there."""
    point = world.have("one")
    found = await ask(world, FORK, "operator", turn=point[-8:])
    assert found == BranchReport(
        chat="web:operator/fork-07070707",
        agent="work",
        text=found.text,
        url="/chats/web/local/operator/fork-07070707/",
    )
    said = "SELECT body FROM outbox WHERE chat_id = 'operator/fork-07070707'"
    assert world.db.execute(said).get == found.text
    console = await ask(world, FORK, "operator", turn=point, chat="console")
    assert (console.chat, console.url) == ("console:fork-07070707", None)
    named = await ask(world, FORK, "operator", turn=point, chat="console:try")
    assert named.chat == "console:try"
    with pytest.raises(RpcError, match="of the page or of the console"):
        await ask(world, FORK, "operator", turn=point, chat="telegram:9")


async def test_rewind_reports_what_can_be_taken_back(world: BranchedWorld) -> None:
    """The ids of facts and tasks since, for the buttons that forget and end them."""
    point = world.have("one")
    left = world.have("two")
    world.db.execute(
        "INSERT INTO fact(agent_id, fact, category, source, created_at, updated_at, scope)"
        " VALUES('work', 'Bob sings.', 'fact', ?, ?, ?, 'telegram:7')",
        (f"turn {left}", world.now, world.now),
    )
    found = await ask(world, REWIND, "operator", turn=point)
    assert (found.chat, found.facts, found.tasks) == ("telegram:7", (1,), ())
    assert found.text.startswith("I go on from “answer to: one”.")
    with pytest.raises(RpcError, match="nothing has happened"):
        await ask(world, REWIND, "operator", turn=point)


async def test_person_of_the_page_has_the_own_chats(world: BranchedWorld) -> None:
    """An operator has all of them, unless a guest has the same name."""
    own, other = world.have("one", at=ANN), world.have("one", at=BOB)
    for point, chat in ((own, "web:bob/x"), (own, "console"), (other, "web:ann/x")):
        with pytest.raises(RpcError, match="only your own chats"):
            await ask(world, FORK, "web:ann", turn=point, chat=chat)
    for by in ("web:ann", "web:otto", "hook:x"):
        with pytest.raises(RpcError, match="only your own chats"):
            await ask(world, REWIND, by, turn=other)
    found = await ask(world, FORK, "web:ann", turn=own)
    assert found.chat == "web:ann/fork-07070707"
    world.have("two", at=ANN)
    assert (await ask(world, REWIND, "web:ann", turn=own)).chat == "web:ann/1"
    assert (await ask(world, FORK, "web:olga", turn=other)).chat == "web:olga/fork-07070707"


async def test_turn_is_named_in_full_on_the_page(world: BranchedWorld) -> None:
    """The list of those that an end fits shows others' words."""
    point = world.have("one", at=ANN)
    with pytest.raises(RpcError, match="there is no turn"):
        await ask(world, FORK, "web:ann", turn=point[-8:])


async def test_agent_of_another_node_is_left_alone(world: BranchedWorld) -> None:
    """Its node may open a turn meanwhile; the same words reach that node with the turn's id."""
    point = world.have("one")
    world.have("two")
    for method in (FORK, REWIND):
        with pytest.raises(RpcError, match=f"works at another node; .* id: {point}"):
            await ask(world, method, "operator", share={"home"}, turn=point[-8:])
    report = await ask(world, REWIND, "operator", share={"work"}, turn=point)
    assert report.agent == "work"
