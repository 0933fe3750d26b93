"""`/rewind` and `/fork` as answers to a message of a chat."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from fakes.agents_file import validate_file
from fakes.branched import BranchedWorld, branched_world
from fakes.commands import command_desk
from fakes.journal import job, store_in, update

from orchestrator.channel_api import ChatRole
from orchestrator.inbound.commands import Commands

FILE = validate_file(
    {
        "agents": [{"agentId": "work", "llmProvider": "demo"}],
        "bindings": [{"channel": "telegram", "chatId": "*", "agentId": "work"}],
    }
)


class AskedWorld:
    """A chat of a bot, with its commands."""

    def __init__(self, world: BranchedWorld, desk: Commands) -> None:
        self.world = world
        self._desk = desk

    def ask(
        self,
        text: str,
        reply_to: str | None,
        role: ChatRole = "talk",
        *,
        private: bool = True,
        chat: str = "7",
    ) -> str:
        """Return what a command is answered with."""
        message = replace(update(1, text, chat), private=private, reply_to=reply_to)
        command = self._desk.parse_command(message)
        assert command is not None
        with job(self.world.db):
            answer = replace(command, role=role).answer_command(self.world.db)
        assert command.failed == []
        return answer

    def sent(self, turn_id: str) -> str:
        """The platform's number of a turn's answer."""
        sql = "SELECT msg_id FROM outbox WHERE turn_id = ?"
        return str(self.world.db.execute(sql, (turn_id,)).get)


@pytest.fixture
def asked(tmp_path: Path) -> Iterator[AskedWorld]:
    """A chat without a conversation."""
    with branched_world(tmp_path) as world, closing(store_in(tmp_path)) as store:
        yield AskedWorld(world, command_desk(store, lambda: FILE, now=lambda: world.now))


def test_answer_to_either_message_of_a_turn_rewinds_to_its_end(asked: AskedWorld) -> None:
    """The person's own, or the agent's."""
    point = asked.world.have("one")
    asked.world.have("two")
    assert "“answer to: one”" in asked.ask("/rewind", asked.sent(point))
    asked.world.have("three")
    assert "“answer to: one”" in asked.ask("/rewind", "1")


def test_message_has_to_be_answered_that_is_known_here(asked: AskedWorld) -> None:
    """Not one of another chat, whose number may be the same."""
    point = asked.world.have("one")
    asked.world.have("two")
    assert "Answer the message" in asked.ask("/rewind", None)
    assert "Answer the message" in asked.ask("/fork", None, "operate")
    assert "do not know that message" in asked.ask("/rewind", "99")
    assert "do not know that message" in asked.ask("/rewind", asked.sent(point), chat="8")
    assert "do not know that message" in asked.ask("/rewind", "1", chat="8")
    last = asked.world.have("three")
    assert "nothing to rewind" in asked.ask("/rewind", asked.sent(last))


def test_only_operators_rewind_a_group(asked: AskedWorld) -> None:
    """There, one person's rewind takes from all what they have said."""
    point = asked.world.have("one")
    asked.world.have("two")
    number = asked.sent(point)
    assert "Only my operator" in asked.ask("/rewind", number, "approve", private=False)
    assert "I go on" in asked.ask("/rewind", number, "operate", private=False)


def test_fork_of_an_operator_is_a_chat_of_the_page(asked: AskedWorld) -> None:
    """The same message makes one chat, however often it comes."""
    point = asked.world.have("one")
    number = asked.sent(point)
    assert "Only my operator" in asked.ask("/fork", number)
    answer = asked.ask("/fork", number, "operate")
    assert "Go on there: /chats/web/local/operator/fork-" in answer
    made = "SELECT count(*) FROM session WHERE parent_id IS NOT NULL"
    assert "exists already" in asked.ask("/fork", number, "operate")
    assert asked.world.db.execute(made).get == 1
