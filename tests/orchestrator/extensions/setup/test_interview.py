"""The questions in their order, with a person who makes mistakes."""

import pytest
from anyio import to_thread
from fakes.openai_api import OpenAIApi
from fakes.time_limit import time_limit
from prompt_toolkit.application import create_app_session
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from orchestrator.errors import OrchestratorError
from orchestrator.extensions.selftest.crash.fake_telegram import BotApiServer
from orchestrator.extensions.setup.interview import (
    ExistingSetup,
    GivenAnswers,
    Interview,
    parse_allowed_ids,
)
from orchestrator.extensions.setup.proposal import SetupChoices
from orchestrator.extensions.setup.questions import Questions

KEY = "sk-good"
TOKEN = f"123456:{'c' * 35}"


async def answered(
    options: GivenAnswers, before: ExistingSetup, *lines: str
) -> tuple[SetupChoices, dict[str, str]]:
    """What is wished for after these lines, and the keys to store."""
    with create_pipe_input() as pipe, create_app_session(input=pipe, output=DummyOutput()):
        pipe.send_text("".join(f"{line}\r" for line in lines))
        interview = Interview(options, before, Questions())
        with time_limit():
            return await to_thread.run_sync(interview.ask_wishes), interview.values


async def test_refused_key_token_and_id_are_asked_for_again(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Each refusal is explained; no secret is shown."""
    async with OpenAIApi() as model, BotApiServer(TOKEN, "my_bot") as bot:
        model.key = KEY
        given = GivenAnswers(provider=f"{model.url}/v1")
        typed = ("sk-wrong", KEY, "", f"123456:{'d' * 35}", TOKEN, "@joe", "42 43")
        wishes, stored = await answered(given, ExistingSetup(None, {}, {}, bot.url), *typed)
    assert (wishes.agent_id, wishes.model, wishes.telegram) == ("assistant", "fake-model", True)
    assert wishes.allow == ("42", "43")
    assert stored == {"OPENAI_API_KEY": KEY, "TELEGRAM_BOT_TOKEN": TOKEN}
    shown = capsys.readouterr().out
    for said in (
        "refused the key",
        "does not know this token",
        "'@joe' is not the number",
        "@my_bot",
    ):
        assert said in shown
    assert KEY not in shown
    assert TOKEN not in shown


async def test_agent_and_key_that_work_are_kept_with_one_answer() -> None:
    """The key of the shell is offered for storing; without a bot there is nothing more to ask."""
    async with OpenAIApi() as model:
        model.key = KEY
        text = (
            '{"agents": [{"agentId": "a", "llmProvider": "openai", "model": "m",'
            f' "baseUrl": "{model.url}/v1"}}]}}'
        )
        keys = {"OPENAI_API_KEY": KEY}
        for consent, expected in (("n", {}), ("y", keys)):
            before = ExistingSetup(text, keys, {}, "")
            wishes, stored = await answered(GivenAnswers(), before, "y", consent, "")
            assert wishes == SetupChoices("a", None, "m")
            assert stored == expected


async def test_provider_that_the_file_rules_out_is_refused_before_more_is_asked() -> None:
    """Nothing is typed here, so a question would wait for ever."""
    text = '{"agents": [{"agentId": "a", "llmProvider": "openai", "baseUrl": "http://h/v1"}]}'
    with pytest.raises(OrchestratorError, match='"baseUrl"'):
        await answered(GivenAnswers(provider="groq"), ExistingSetup(text, {}, {}, ""))


async def test_person_may_go_on_without_a_key_and_without_a_bot() -> None:
    """Nothing is stored, and no first answer is expected."""
    wishes, stored = await answered(
        GivenAnswers(provider="groq"), ExistingSetup(None, {}, {}, ""), "", "m", ""
    )
    assert (wishes.model, wishes.telegram, stored) == ("m", False, {})


def test_who_may_write_is_pairing_or_numbers() -> None:
    """Names can be taken over by others."""
    assert parse_allowed_ids("pairing") == ("pairing",)
    assert parse_allowed_ids("42, -100 7") == ("42", "-100", "7")
    for wrong in ("@joe", "pairing, 42", "4x", "٣"):
        with pytest.raises(OrchestratorError, match="--allow"):
            parse_allowed_ids(wrong)


async def test_address_of_a_resource_is_asked_for_and_its_deployment_tried() -> None:
    """Azure has no address of its own, and lists no deployments."""
    async with OpenAIApi() as model:
        model.pages["/openai/models?api-version=2024-10-21"] = model.pages["/v1/models"]
        given, nowhere = GivenAnswers(provider="azure"), "http://127.0.0.1:1"
        typed = (model.url, "azure-key", "my-gpt", "")
        wishes, stored = await answered(given, ExistingSetup(None, {}, {}, nowhere), *typed)
        (listed,), (asked,) = model.lookups, model.requests
    assert wishes.account is not None
    assert wishes.account.build_fields(wishes.model) == {
        "llmProvider": "azure",
        "model": "my-gpt",
        "baseUrl": model.url,
    }
    assert stored == {"AZURE_OPENAI_API_KEY": "azure-key"}
    assert listed.headers["api-key"] == asked.headers["api-key"] == "azure-key"
    assert asked.path == "/openai/deployments/my-gpt/chat/completions?api-version=2024-10-21"


async def test_second_bot_is_offered_where_there_is_a_first_one() -> None:
    """By the name of its account; its token is another variable."""
    other = f"654321:{'d' * 35}"
    text = '{"agents": [{"agentId": "a", "llmProvider": "demo"}]}'
    async with BotApiServer(other, "work_bot") as bot:
        before = ExistingSetup(text, {"TELEGRAM_BOT_TOKEN": TOKEN}, {}, bot.url)
        typed = ("My Work", "work", other, "")
        wishes, stored = await answered(GivenAnswers(provider="demo"), before, *typed)
    assert (wishes.telegram, wishes.bot_account, wishes.agent_id) == (True, "work", "a")
    assert stored == {"TELEGRAM_BOT_TOKEN_WORK": other}


async def test_second_bot_is_named_like_the_agent_that_is_set_up(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """With Enter; a token typed as the name is not repeated, and "-" keeps the first bot."""
    other = f"654321:{'d' * 35}"
    text = '{"agents": [{"agentId": "a", "llmProvider": "demo"}]}'
    given = GivenAnswers(provider="demo", agent="Sales")
    async with BotApiServer(other, "sales_bot") as bot:
        before = ExistingSetup(text, {"TELEGRAM_BOT_TOKEN": TOKEN}, {}, bot.url)
        wishes, stored = await answered(given, before, other, "", other, "")
        assert (wishes.bot_account, wishes.agent_id) == ("sales", "Sales")
        assert stored == {"TELEGRAM_BOT_TOKEN_SALES": other}
        shown = capsys.readouterr().out
        assert "that is a token, not the name of an account" in shown
        assert other not in shown
    async with BotApiServer(TOKEN, "my_bot") as bot:
        before = ExistingSetup(text, {"TELEGRAM_BOT_TOKEN": TOKEN}, {}, bot.url)
        wishes, stored = await answered(given, before, "-", "n", "")
        assert (wishes.bot_account, stored) == ("", {})


async def test_person_is_asked_before_a_bot_is_replaced_and_told_of_a_second_use(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """No keeps the first bot; a token that another account has is asked for again."""
    text = '{"agents": [{"agentId": "a", "llmProvider": "demo"}]}'
    keys = {"TELEGRAM_BOT_TOKEN": f"1:{'a' * 35}"}
    for consent, expected in (("n", {}), ("y", {"TELEGRAM_BOT_TOKEN": TOKEN})):
        before = ExistingSetup(text, keys, keys, "http://127.0.0.1:1")
        given = GivenAnswers(provider="demo", token=TOKEN)
        _, stored = await answered(given, before, "n", consent, "")
        assert stored == expected
    keys = {"TELEGRAM_BOT_TOKEN": TOKEN}
    async with BotApiServer(TOKEN, "my_bot") as bot:
        given = GivenAnswers(provider="demo", token=TOKEN, account="work")
        wishes, stored = await answered(given, ExistingSetup(text, keys, keys, bot.url), "")
    assert (wishes.telegram, stored) == (False, {})
    assert "@my_bot is already the bot of this home" in capsys.readouterr().out
