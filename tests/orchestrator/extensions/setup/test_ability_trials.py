"""What services say about keys, told to a person."""

import pytest
from fakes.anthropic_api import AnthropicApi
from fakes.model_api import Reply
from fakes.openai_api import OpenAIApi

from orchestrator.extensions.selftest.crash.fake_telegram import BotApiServer
from orchestrator.extensions.setup.ability_trials import try_account, try_bot, try_model
from orchestrator.extensions.setup.model_account import find_account

TOKEN = f"123456:{'c' * 35}"


@pytest.mark.parametrize(("kind", "name"), [(OpenAIApi, "openai"), (AnthropicApi, "anthropic")])
async def test_key_is_tried_by_asking_for_the_models(
    kind: type[OpenAIApi | AnthropicApi], name: str
) -> None:
    """A refusal has the provider's own words, and the key is not among them."""
    async with kind() as api:
        api.key = "sk-good"
        api.pages["/v1/models"] = api.pages["/v1/models?limit=1000"] = {"data": [{"id": "m"}]}
        found = find_account(name, f"{api.url}/v1")
        works = await try_account(found, "sk-good")
        assert (works.verdict, works.models) == ("works", ("m",))
        refused = await try_account(found, "sk-wrong")
        assert (refused.verdict, refused.models) == ("refused", ())
        assert "Incorrect API key" in refused.text


async def test_server_without_a_list_is_tried_with_one_token() -> None:
    """A refused model is told as such."""
    async with OpenAIApi() as api:
        api.pages.clear()
        found = find_account("openai", f"{api.url}/v1")
        listed = await try_account(found, "k")
        assert (listed.verdict, listed.models) == ("works", ())
        assert (await try_model(found, "k", "m")).verdict == "works"
        assert api.requests[-1].body["max_tokens"] == 1
        api.script.append(Reply("no model with key k-secret", status=404))
        refused = await try_model(found, "k-secret", "m")
        assert refused.verdict == "refused"
        assert "k-secret" not in refused.text


async def test_host_that_does_not_answer_is_unreachable() -> None:
    """For a server of this machine the question is whether it runs."""
    away = await try_account(find_account("openai", "http://127.0.0.1:1/v1"), "k")
    assert (away.verdict, "check the network" in away.text) == ("unreachable", True)
    local = await try_account(find_account("ollama", "http://127.0.0.1:1/v1"), "")
    assert (local.verdict, "running on this machine" in local.text) == ("unreachable", True)
    bot = await try_bot(TOKEN, "http://127.0.0.1:1")
    assert (bot.verdict, TOKEN in bot.text) == ("unreachable", False)


async def test_token_is_tried_by_asking_whose_it_is() -> None:
    """A malformed one is not even sent."""
    async with BotApiServer(TOKEN, "my_bot") as api:
        found = await try_bot(TOKEN, api.url)
        assert (found.verdict, found.bot) == ("works", "my_bot")
        for wrong in ("canary", f"123456:{'d' * 35}"):
            refused = await try_bot(wrong, api.url)
            assert refused.verdict == "refused"
            assert wrong not in refused.text


async def test_token_in_an_address_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    """At the lowest level that a daemon logs."""
    with caplog.at_level("INFO"):
        async with BotApiServer(TOKEN, "my_bot") as api:
            assert (await try_bot(TOKEN, api.url)).bot == "my_bot"
    assert TOKEN not in caplog.text


async def test_model_that_wants_another_limit_gets_it() -> None:
    """Models that reason refuse the older name, and need a few tokens to answer."""
    async with OpenAIApi() as api:
        api.script.append(Reply("use 'max_completion_tokens' instead", status=400))
        assert (await try_model(find_account("openai", f"{api.url}/v1"), "k", "o9")).verdict == (
            "works"
        )
        assert [request.body.get("max_tokens") for request in api.requests] == [1, None]
        assert api.requests[-1].body["max_completion_tokens"] == 64
