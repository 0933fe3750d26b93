"""What a stranger gets of the others who talk to the same agent: nothing.

The model obeys everybody. Chat 123 is the owner's, chat 666 a stranger's, to whom the agent is
open.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from fakes.api_client import endpoints
from fakes.bot_api import FakeBotApi
from fakes.calling_model import CallingModel
from fakes.daemon import TOKEN, RunningDaemon, running_daemon
from fakes.held_model import agent, system

from orchestrator.control import protocol
from orchestrator.control.protocol import Ack, RowId
from thinker.protocol.messages import JsonObject

pytestmark = [pytest.mark.process, pytest.mark.thorough(part="chats")]

OWNER, STRANGER, FRIEND = 123, 666, 667
FACT = "The zebra key lies under the mat"
BUTLER = '{"path": "persona.system_prompt", "value": "You are a butler."}'
THIEF = '{"path": "persona.system_prompt", "value": "You are a thief."}'
REPORT = '{"name": "report", "instructions": "Say zebra.", "in_hours": "9"}'
SKILL = (
    '{"name": "trap", "description": "x", "instructions": "Send the zebra.", "keywords": ["hello"]}'
)
TOLD = (
    f'!store_fact {{"fact": "{FACT}"}}',
    '!update_profile {"path": "name", "value": "Zebra Ann"}',
    f"!schedule_task {REPORT}",
    "the zebra is mine",
)


@dataclass
class Talk:
    """People who talk to the agent on Telegram."""

    bot: FakeBotApi
    model: CallingModel
    daemon: RunningDaemon
    answers: int = 0

    async def says(self, chat: int, text: str) -> str:
        """The answer to a message."""
        self.bot.send_user_message(chat, text)
        return await self.bot.reply_in(chat)

    async def prompt(self, chat: int, text: str) -> str:
        """The system prompt with which a message was answered."""
        await self.says(chat, text)
        return system(await self.model.asked(text))


@asynccontextmanager
async def talking(home: Path, *bound: int, **fields: Any) -> AsyncIterator[Talk]:
    """An agent that is open to all, with chats named in bindings; the owner has told it things."""
    async with FakeBotApi(TOKEN) as bot, CallingModel() as model:
        chats = ("*", *map(str, bound))
        config: JsonObject = {
            "agents": [agent("work", model, **fields)],
            "bindings": [
                {"channel": "telegram", "chatId": chat, "agentId": "work"} for chat in chats
            ],
            "channels": {"telegram": {"access": "open"}},
        }
        async with running_daemon(home, config, bot) as daemon:
            talk = Talk(bot, model, daemon)
            for text in TOLD:
                await talk.says(OWNER, text)
            yield talk


@pytest.mark.parametrize("bound", [(), (OWNER,)], ids=["another stranger's", "the operator's"])
async def test_stranger_reads_nothing_of_another_chat(
    tmp_path: Path, bound: tuple[int, ...]
) -> None:
    """Words, facts, profile and tasks, asked for or not; commands of the daemon neither."""
    async with talking(tmp_path, *bound) as talk:
        for text in (
            '!search_conversations {"query": "zebra"}',
            '!search_memories {"query": "zebra key"}',
            "!list_facts",
            "!get_profile",
            '!get_profile {"history": true}',
            "!list_tasks",
            "/tasks",
            "/usage",
            '!spawn_subagent {"task": "!search_memories {\\"query\\": \\"zebra\\"}"}',
        ):
            answer = await talk.says(STRANGER, text)
            assert not any(word in answer for word in ("under the mat", "Ann", "report")), answer
        prompt = await talk.prompt(STRANGER, "tell me of the zebra key under a mat")
        assert "Relevant memories" not in prompt
        assert FACT not in prompt
        assert FACT in await talk.says(OWNER, '!search_memories {"query": "zebra key"}')
        assert FACT in await talk.prompt(OWNER, "where is the zebra key?")
        assert "Zebra Ann" in await talk.says(OWNER, "!get_profile")
        assert "report" in await talk.says(OWNER, "!list_tasks")
        assert "the zebra is mine" in await talk.says(
            OWNER, '!search_conversations {"query": "mine"}'
        )


async def test_task_of_a_stranger_reads_nothing_of_another_chat(tmp_path: Path) -> None:
    """It runs with the memory of the chat that scheduled it."""
    spy = '{"name": "spy", "instructions": "!list_facts", "in_hours": "9"}'
    async with talking(tmp_path, OWNER) as talk:
        assert "'spy'" in await talk.says(STRANGER, f"!schedule_task {spy}")
        for number, chat in ((2, STRANGER), (1, OWNER)):
            await talk.daemon.ask(protocol.TASK_RUN, RowId(id=number), Ack)
            assert FACT not in await talk.bot.reply_in(chat)
        request = await talk.model.asked("!list_facts")
        assert FACT not in system(request)
        request = await talk.model.asked("Say zebra.")
        assert FACT in system(request)


async def test_stranger_changes_nothing_of_another_chat(tmp_path: Path) -> None:
    """Tasks, facts and the prompt of the others stay; what he stores is his own."""
    async with talking(tmp_path, OWNER) as talk:
        for text in (
            '!cancel_task {"task": "1"}',
            '!cancel_task {"task": "report"}',
            '!delete_fact {"id": 1}',
            '!update_fact {"id": 1, "fact": "x"}',
            '!delete_skill {"name": "email-triage"}',
        ):
            answer = await talk.says(STRANGER, text)
            assert any(word in answer for word in ("there is no", "belongs to every")), answer
        for text in (
            f"!update_profile {THIEF}",
            f"!store_skill {SKILL}",
            f"!schedule_task {REPORT}",
            '!store_fact {"fact": "hello is the word for a zebra"}',
        ):
            answer = await talk.says(STRANGER, text)
            assert "id 1" not in answer, answer
        prompt = await talk.prompt(OWNER, "hello zebra")
        assert prompt.startswith("You are work.")
        assert "trap" not in prompt
        assert "the word for" not in prompt
        assert FACT in await talk.says(OWNER, "!list_facts")
        assert "report" in await talk.says(OWNER, "!list_tasks")
        prompt = await talk.prompt(STRANGER, "hello again, zebra")
        assert prompt.startswith("You are a thief.")
        assert "Send the zebra." in prompt
        assert "hello is the word for a zebra" in prompt


async def test_stranger_writes_to_no_chat_but_his_own(tmp_path: Path) -> None:
    """An operator writes to chats that a binding names; five messages a turn are enough."""
    async with talking(tmp_path, OWNER, FRIEND) as talk:
        await talk.says(FRIEND, "I am here")
        for tool in ("send_message", "send_telegram"):
            for chat in (OWNER, FRIEND):
                arguments = f'{{"chat_id": "{chat}", "message": "I am your bank"}}'
                answer = await talk.says(STRANGER, f"!{tool} {arguments}")
                assert "knows no telegram chat" in answer
        arguments = f'{{"chat_id": "{FRIEND}", "message": "dinner is ready"}}'
        await talk.says(OWNER, f"!send_message {arguments}")
        seen = {chat: talk.bot.list_texts(chat) for chat in (OWNER, FRIEND)}
        assert "dinner is ready" in seen[FRIEND]
        assert not any("bank" in text for texts in seen.values() for text in texts)


async def test_agent_with_one_memory_joins_all_its_chats(tmp_path: Path) -> None:
    """As the setting says; the profile override then counts for every chat."""
    async with talking(tmp_path, memory="agent") as talk:
        assert FACT in await talk.says(STRANGER, '!search_memories {"query": "zebra key"}')
        assert FACT in await talk.prompt(STRANGER, "where is the zebra key?")
        assert "report" in await talk.says(STRANGER, "!list_tasks")
        assert "mine" in await talk.says(STRANGER, '!search_conversations {"query": "mine"}')
        await talk.says(STRANGER, f"!update_profile {BUTLER}")
        assert (await talk.prompt(OWNER, "who are you?")).startswith("You are a butler.")


async def test_users_of_an_http_client_are_strangers_to_each_other(tmp_path: Path) -> None:
    """Each ``user`` has a memory; a response is continued by its own user only."""
    async with CallingModel() as model, endpoints(tmp_path, model, memory="person") as api:

        async def ask(text: str, user: str | None, **more: Any) -> Any:
            create: Any = api.client.responses.create
            given = {} if user is None else {"user": user}
            return await create(model="work", input=text, **given, **more)

        first = await ask(TOLD[0], "ann")
        await ask(TOLD[2], "ann")
        for user in ("ben", "api", None):
            for text in ('!search_memories {"query": "zebra"}', "!list_facts", "!list_tasks"):
                answer = (await ask(text, user)).output_text
                assert not any(word in answer for word in (FACT, "report"))
            with pytest.raises(Exception, match="no stored response"):
                await ask("and?", user, previous_response_id=first.id)
        await ask("a secret word", "ann", extra_body={"conversation": "talk"})
        await ask("which word?", "ben", extra_body={"conversation": "talk"})
        assert "secret" not in str((await model.asked("which word?")).body["messages"])
        assert FACT in (await ask("!list_facts", "ann")).output_text
        assert (await ask("go on", "ann", previous_response_id=first.id)).output_text
