"""A provider behind a bad network, through the fault proxy (F33 to F44)."""

from pathlib import Path

import pytest
from fakes.bot_api import FakeBotApi
from fakes.daemon import TOKEN, running_daemon
from fakes.fault_proxy import HANG, LOST_ANSWER, LOST_REQUEST, RESET, FaultProxy, cut, late
from fakes.held_model import HeldModel, two_agents
from fakes.model_api import Reply
from fakes.openai_api import OpenAIApi
from fakes.time_limit import LIMIT, time_limit

from thinker.models.base import ModelRequest
from thinker.models.endpoint import ModelTimeouts
from thinker.models.openai_chat import OpenAIChat
from thinker.protocol.messages import UserMessage
from thinker.protocol.providers import PROVIDERS
from thinker.worker_errors import RetryableModelError

pytestmark = [pytest.mark.process, pytest.mark.thorough(part="models")]

NOW = {"retry-after": "0"}
TEXT = "Zwei Wörter, ein \U0001f600 und noch mehr davon."


@pytest.mark.parametrize("streamed", [True, False])
async def test_answer_cut_at_any_byte_is_whole_or_asked_for_again(*, streamed: bool) -> None:
    """In the head, in the middle of JSON or of a character: never half an answer (F36)."""
    async with OpenAIApi(lambda _: Reply(TEXT)) as api, FaultProxy(api.url) as proxy:
        model = OpenAIChat(PROVIDERS["groq"], "m", f"{proxy.url}/v1", "gsk-key")
        on_text = (lambda _: None) if streamed else None
        request = ModelRequest("", (UserMessage(content="hello"),), on_text=on_text)
        whole, failed = 0, 0
        for count in range(0, 4000 if streamed else 600, 37 if streamed else 5):
            proxy.spoil("chat/completions", fault=cut(count))
            try:
                response = await model.complete(request)
            except RetryableModelError:
                failed += 1
            else:
                assert response.message.content == TEXT
                whole += 1
        await model.aclose()
    assert min(whole, failed) > 0


async def test_hang_before_the_headers_is_given_up_and_the_next_try_answers() -> None:
    """The first token has its own deadline, and a late one in time is taken (F35)."""
    timeouts = ModelTimeouts(connect=LIMIT, first_token=1, idle=LIMIT, total=LIMIT)
    async with OpenAIApi(lambda _: Reply(TEXT)) as api, FaultProxy(api.url) as proxy:
        model = OpenAIChat(PROVIDERS["groq"], "m", f"{proxy.url}/v1", "gsk-key", timeouts=timeouts)
        request = ModelRequest("", (UserMessage(content="hello"),), on_text=lambda _: None)
        proxy.spoil("chat/completions", fault=HANG)
        with time_limit():
            with pytest.raises(RetryableModelError, match="timed out"):
                await model.complete(request)
            proxy.spoil("chat/completions", fault=late(0.01))
            assert (await model.complete(request)).message.content == TEXT
        await model.aclose()


async def test_provider_behind_a_bad_network_costs_tries_and_no_answer(tmp_path: Path) -> None:
    """Lost, cut and reset in turn, and three errors: each message has one answer (F34, F36)."""
    faults = (LOST_REQUEST, LOST_ANSWER, RESET, cut(300))
    async with FakeBotApi(TOKEN) as bot, HeldModel() as model, FaultProxy(model.url) as proxy:
        config = two_agents(model, baseUrl=f"{proxy.url}/v1", limits={"maxConcurrentTurns": 8})
        config["bindings"] = [{"channel": "telegram", "chatId": "*", "agentId": "work"}]
        chats = {500 + number: fault for number, fault in enumerate(faults)}
        for chat, fault in chats.items():
            proxy.spoil(f"number {chat}", fault=fault)
        async with running_daemon(tmp_path, config, bot) as daemon:
            for chat in chats:
                bot.send_user_message(chat, f"number {chat}")
            for chat in chats:
                assert await bot.reply_in(chat) == f"work-model: number {chat}"
            model.script.extend([Reply("overloaded", status=500, headers=NOW)] * 3)
            bot.send_user_message(600, "after three errors")
            assert await bot.reply_in(600) == "work-model: after three errors"
            report = await daemon.until(lambda report: report.open_turns == 0)
    assert proxy.spoiled == len(faults)
    assert {turn.stop_reason for turn in report.recent_turns} == {"done"}


async def test_second_model_takes_over_in_mid_turn_and_runs_no_tool_again(tmp_path: Path) -> None:
    """The first refuses after its first step; the journal goes on as it was (F44)."""
    async with FakeBotApi(TOKEN) as bot, HeldModel() as model:
        model.script.append(Reply(tool_calls=(("send_message", {"message": "one moment"}),)))
        model.script.append(Reply("no credit", status=402))
        config = two_agents(model, fallbackModels=["second-model"])
        async with running_daemon(tmp_path, config, bot) as daemon:
            bot.send_user_message(123, "go on")
            assert await bot.reply_in(123) == "one moment"
            assert await bot.reply_in(123) == "second-model: go on"
            (turn,) = (await daemon.until(lambda report: report.open_turns == 0)).recent_turns
    assert turn.tools == ("send_message",)
    assert bot.list_texts(123) == ["one moment", "second-model: go on"]
