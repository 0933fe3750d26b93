"""`orchestrator setup` with fakes of a provider and of Telegram, and a daemon of its own."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from anyio import to_thread
from fakes.model_api import Reply
from fakes.openai_api import OpenAIApi
from fakes.time_limit import time_limit
from typer.testing import CliRunner, Result

from orchestrator.cli import app
from orchestrator.errors import ExitCode
from orchestrator.extensions.selftest.crash.fake_telegram import BotApiServer
from orchestrator.testing.loopback import ForeignJson

KEY = "sk-canary"
THOROUGH = pytest.mark.thorough(part="operations")
TOKEN = f"123456:{'c' * 35}"
CLOSED = "http://127.0.0.1:1"  # where nothing listens


@asynccontextmanager
async def services() -> AsyncIterator[tuple[OpenAIApi, BotApiServer]]:
    """A provider that knows one key, and Telegram with one bot."""
    async with OpenAIApi() as model, BotApiServer(TOKEN, "my_bot") as bot:
        model.key = KEY
        yield model, bot


async def setup(home: Path, *arguments: str, said: str = "", **environ: str) -> Result:
    """Run the command in a thread, without a terminal."""
    env = {"ORCHESTRATOR_HOME": str(home), "ORCHESTRATOR_API_PORT": "0", **environ}
    with time_limit():
        return await to_thread.run_sync(
            lambda: CliRunner().invoke(app, ["setup", *arguments], input=said, env=env)
        )


def provider(model: OpenAIApi) -> tuple[str, ...]:
    """The options that lead to the fake."""
    return ("--provider", f"{model.url}/v1")


async def test_empty_home_gets_keys_an_agent_a_bot_and_its_first_answer(tmp_path: Path) -> None:
    """Without a terminal; the secrets are in one private file and on no screen."""
    home = tmp_path / "home"
    async with services() as (model, bot):
        options = ("--key-from", "-", "--telegram-token-from", "TOKEN", "--allow", "42", "--yes")
        done = await setup(
            home,
            *provider(model),
            *options,
            said=f"{KEY}\n",
            TOKEN=TOKEN,
            TELEGRAM_API_URL=bot.url,
        )
    assert done.exit_code == 0, done.output
    assert "assistant: echo: " in done.stdout  # with the context that comes before it
    assert "@my_bot" in done.stdout
    assert "orchestrator run" in done.stdout
    keys = home / "keys.env"
    assert keys.stat().st_mode & 0o777 == 0o600
    assert {f"OPENAI_API_KEY={KEY}", f"TELEGRAM_BOT_TOKEN={TOKEN}"} <= set(
        keys.read_text("utf-8").splitlines()
    )
    text = (home / "agents.json").read_text("utf-8")
    value = json.loads(text)
    assert value["agents"][0]["model"] == "fake-model"
    assert value["channels"]["telegram"] == {"access": "allowlist", "allowlist": ["42"]}
    for secret in (KEY, TOKEN):
        assert secret not in done.output + text


async def test_second_run_changes_only_what_it_is_asked(tmp_path: Path) -> None:
    """Each file has the same bytes; another model changes its own line."""
    home = tmp_path / "home"
    first = ("--provider", f"{CLOSED}/v1", "--key-from", "MINE", "--model", "m", "--yes")
    await setup(home, *first, MINE=KEY)
    before = {name: (home / name).read_bytes() for name in ("agents.json", "keys.env")}
    await setup(home, "--yes")
    assert before == {name: (home / name).read_bytes() for name in before}
    other = await setup(home, "--yes", "--model", "n")
    assert '"model": "n"' in other.stdout
    assert (home / "agents.json").read_bytes() == before["agents.json"].replace(b'"m"', b'"n"')
    assert (home / "keys.env").read_bytes() == before["keys.env"]


@pytest.mark.thorough(part="operations")
async def test_second_address_gets_neither_the_key_nor_the_variable_of_the_first(
    tmp_path: Path,
) -> None:
    """Its own key has a name of its own; without one none is sent, now and by the daemon."""
    async with services() as (model, _), OpenAIApi() as other:
        other.key = "sk-other"
        await setup(tmp_path, *provider(model), "--key-from", "MINE", "--yes", MINE=KEY)
        before = (tmp_path / "keys.env").read_bytes()
        second = (*provider(other), "--agent", "my-second", "--yes")
        refused = await setup(tmp_path, *second)
        assert refused.exit_code == ExitCode.FAILED
        assert "--key-from" in refused.output
        assert (tmp_path / "keys.env").read_bytes() == before
        done = await setup(tmp_path, *second, "--key-from", "MINE", MINE="sk-other")
        assert done.exit_code == 0, done.output
        again = await setup(tmp_path, *provider(other), "--agent", "third", "--yes")
        assert again.exit_code == 0, again.output
    text = (tmp_path / "keys.env").read_text("utf-8")
    assert {f"OPENAI_API_KEY={KEY}", "MY_SECOND_API_KEY=sk-other"} <= set(text.splitlines())
    agents = json.loads((tmp_path / "agents.json").read_text("utf-8"))["agents"]
    own = {"OPENAI_API_KEY": "${MY_SECOND_API_KEY}"}
    assert [agent.get("env") for agent in agents] == [None, own, own]
    assert KEY not in str((other.requests, other.lookups))


@pytest.mark.thorough(part="operations")
async def test_server_that_wants_no_key_is_not_sent_the_one_of_another(tmp_path: Path) -> None:
    """Neither while it is tried nor by the daemon afterwards."""
    async with services() as (model, _), OpenAIApi() as other:
        await setup(tmp_path, *provider(model), "--key-from", "MINE", "--yes", MINE=KEY)
        done = await setup(tmp_path, *provider(other), "--agent", "b", "--yes")
        assert done.exit_code == 0, done.output
        assert other.requests
    assert KEY not in str((other.requests, other.lookups))


@pytest.mark.parametrize(
    ("arguments", "environ", "said"),
    [
        (("--key-from", "MINE"), {"MINE": "sk-wrong"}, "refused the key: HTTP 401"),
        (("--key-from", "MINE"), {"MINE": "sk canary"}, "this is not a key"),
        (("--key-from", "NONE"), {}, "the variable NONE of this shell is empty"),
        (("--key-from", "-"), {}, "stdin is empty"),
        (
            ("--key-from", "MINE", "--telegram-token-from", "T"),
            {"MINE": KEY, "T": f"123456:{'d' * 35}"},
            "does not know this token",
        ),
        (
            ("--key-from", "MINE", "--telegram-token-from", "T"),
            {"MINE": KEY, "T": "canary"},
            "not a bot token",
        ),
        (
            ("--key-from", "MINE", "--allow", "@joe"),
            {"MINE": KEY},
            "not the number of a user or chat",
        ),
    ],
)
async def test_wrong_answer_is_explained_and_nothing_is_written(
    tmp_path: Path, arguments: tuple[str, ...], environ: dict[str, str], said: str
) -> None:
    """The secret is not repeated."""
    home = tmp_path / "home"
    async with services() as (model, bot):
        refused = await setup(
            home, *provider(model), *arguments, "--yes", TELEGRAM_API_URL=bot.url, **environ
        )
    assert refused.exit_code == ExitCode.FAILED
    assert said in refused.output
    assert "canary" not in refused.output
    assert not (home / "keys.env").exists()
    assert not (home / "agents.json").exists()


async def test_key_of_a_service_that_is_out_of_reach_is_stored_untried(tmp_path: Path) -> None:
    """It is not refused; the exit code says that there was no answer."""
    arguments = ("--provider", f"{CLOSED}/v1", "--key-from", "MINE", "--model", "m", "--yes")
    done = await setup(tmp_path, *arguments, MINE=KEY)
    assert done.exit_code == ExitCode.FAILED
    assert "cannot be reached" in done.output
    assert "not tried" in done.output
    assert f"OPENAI_API_KEY={KEY}" in (tmp_path / "keys.env").read_text("utf-8")


async def test_model_that_is_not_listed_is_tried_and_the_refusal_shown(tmp_path: Path) -> None:
    """Providers have aliases that they do not list."""
    async with services() as (model, _):
        arguments = (*provider(model), "--key-from", "MINE", "--model", "fake-modle", "--yes")
        model.script.append(Reply("the model does not exist", status=404))
        refused = await setup(tmp_path, *arguments, MINE=KEY)
    assert refused.exit_code == ExitCode.FAILED
    assert "the model does not exist" in refused.output
    assert 'did you mean "fake-model"?' in refused.output


@pytest.mark.thorough(part="operations")
async def test_model_that_is_not_listed_but_answers_is_taken_with_a_hint(tmp_path: Path) -> None:
    """Some servers answer to any name, also to a slip of the hand."""
    async with services() as (model, _):
        arguments = (*provider(model), "--key-from", "MINE", "--model", "fake-modle", "--yes")
        done = await setup(tmp_path, *arguments, MINE=KEY)
    assert done.exit_code == ExitCode.OK
    assert 'fake-modle is not listed; did you mean "fake-model"?' in done.output


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (Reply("You exceeded your quota", status=429, kind="insufficient_quota"), "no credit"),
        pytest.param(Reply("no such model here", status=400), "orchestrator logs", marks=THOROUGH),
        pytest.param(Reply("boom", status=500), "openai answered 500: boom", marks=THOROUGH),
        pytest.param(Reply("boom", fault="cut"), "gave no answer", marks=THOROUGH),
        pytest.param(Reply(""), "gave no answer", marks=THOROUGH),
    ],
)
async def test_model_that_does_not_answer_is_told_with_the_reason(
    tmp_path: Path, reply: Reply, said: str
) -> None:
    """At once, though the daemon goes on trying; what comes next is shown all the same."""
    async with OpenAIApi(lambda _: reply) as model:
        done = await setup(tmp_path, *provider(model), "--key-from", "MINE", "--yes", MINE=KEY)
    assert done.exit_code == ExitCode.FAILED
    assert said in done.output
    assert "orchestrator run" in done.output


async def test_missing_option_is_named_where_there_is_no_terminal(tmp_path: Path) -> None:
    """Also the consent to change a file."""
    asked = await setup(tmp_path)
    assert asked.exit_code == 2
    assert "--provider" in asked.output
    (tmp_path / "agents.json").write_text('{"agents": [{"agentId": "a"}]}', "utf-8")
    unsaid = await setup(tmp_path, "--provider", "demo")
    assert unsaid.exit_code == 2
    assert "--yes" in unsaid.output
    assert "demo" not in (tmp_path / "agents.json").read_text("utf-8")


async def test_file_with_an_error_is_not_touched(tmp_path: Path) -> None:
    """The error is shown as `check` does."""
    for text in ('{"agents": [', '{"agents": [{"agentId": "a", "llmProvider": "demo", "x": 1}]}'):
        (tmp_path / "agents.json").write_text(text, "utf-8")
        refused = await setup(tmp_path, "--provider", "demo", "--yes")
        assert refused.exit_code == ExitCode.CONFIG
        assert "agents.json:1: " in refused.output
        assert (tmp_path / "agents.json").read_text("utf-8") == text


FIRST, SECOND = f"111:{'a' * 35}", f"222:{'b' * 35}"
KEPT = f"TELEGRAM_BOT_TOKEN={FIRST}\n"
AGENTS = '{"agents": [{"agentId": "home", "llmProvider": "demo"}]}'
ADD = ("--agent", "work", "--provider", "demo", "--yes", "--telegram-token-from")


class TwoBots(BotApiServer):
    """Telegram with two bots, `FIRST` and `SECOND`."""

    async def answer_request(self, path: str, params: ForeignJson) -> tuple[int, bytes]:
        """Answer for the bot whose token is in the path."""
        if path.startswith(f"/bot{SECOND}/"):
            return 200, b'{"ok": true, "result": {"username": "second_bot"}}'
        return await super().answer_request(path, params)


async def add_bot(home: Path, source: str, url: str, **environ: str) -> Result:
    """Add a bot to a home that has the first one."""
    (home / "agents.json").write_text(AGENTS, "utf-8")
    (home / "keys.env").write_text(KEPT, "utf-8")
    return await setup(home, *ADD, source, TELEGRAM_API_URL=url, **environ)


def assert_unchanged(home: Path, done: Result) -> None:
    """Nothing was written, and no token is on the screen."""
    assert done.exit_code == ExitCode.FAILED, done.output
    assert (home / "keys.env").read_text("utf-8") == KEPT
    assert (home / "agents.json").read_text("utf-8") == AGENTS
    assert not any(token in done.output for token in (FIRST, SECOND))


async def test_token_of_a_bot_is_not_replaced_by_that_of_another(tmp_path: Path) -> None:
    """The refusal names both, and how to add the other."""
    async with TwoBots(FIRST, "first_bot") as bots:
        refused = await add_bot(tmp_path, "WT", bots.url, WT=SECOND)
    assert_unchanged(tmp_path, refused)
    assert (
        "this would replace @first_bot by @second_bot; to add a bot, put its token into"
        " TELEGRAM_BOT_TOKEN_WORK and use --telegram-token-from TELEGRAM_BOT_TOKEN_WORK"
    ) in " ".join(refused.output.split())


async def test_bot_that_cannot_be_tried_is_not_replaced(tmp_path: Path) -> None:
    """Its token may work again with the network."""
    refused = await add_bot(tmp_path, "WT", CLOSED, WT=SECOND)
    assert_unchanged(tmp_path, refused)
    assert "which cannot be tried now" in refused.output


async def test_bot_of_the_home_is_refused_as_a_second_one(tmp_path: Path) -> None:
    """One token in two variables would be one bot for two accounts."""
    async with TwoBots(FIRST, "first_bot") as bots:
        source = "TELEGRAM_BOT_TOKEN_WORK"
        refused = await add_bot(tmp_path, source, bots.url, **{source: FIRST})
    assert_unchanged(tmp_path, refused)
    assert "@first_bot is already the bot of this home; make another at @BotFather" in (
        refused.output
    )


@pytest.mark.parametrize(
    ("source", "token", "line"),
    [
        ("WT", FIRST, KEPT.strip()),
        ("TELEGRAM_BOT_TOKEN_WORK", SECOND, f"TELEGRAM_BOT_TOKEN_WORK={SECOND}"),
    ],
)
async def test_same_token_again_and_another_bot_are_taken(
    tmp_path: Path, source: str, token: str, line: str
) -> None:
    """The token of the first bot stays in each case."""
    async with TwoBots(FIRST, "first_bot") as bots:
        done = await add_bot(tmp_path, source, bots.url, **{source: token})
    assert done.exit_code == 0, done.output
    lines = (tmp_path / "keys.env").read_text("utf-8").splitlines()
    assert {KEPT.strip(), line} <= set(lines)


async def test_token_that_telegram_no_longer_knows_is_replaced(tmp_path: Path) -> None:
    """There is no bot to lose, as after a new token at @BotFather."""
    async with BotApiServer(SECOND, "second_bot") as bot:
        done = await add_bot(tmp_path, "WT", bot.url, WT=SECOND)
    assert done.exit_code == 0, done.output
    assert f"TELEGRAM_BOT_TOKEN={SECOND}" in (tmp_path / "keys.env").read_text("utf-8")


async def test_secret_in_the_place_of_its_variable_is_not_repeated(tmp_path: Path) -> None:
    """The option takes a name."""
    refused = await add_bot(tmp_path, SECOND, CLOSED)
    assert_unchanged(tmp_path, refused)
    assert "--telegram-token-from takes the name of a variable" in refused.output


async def test_misspelt_provider_gets_a_suggestion(tmp_path: Path) -> None:
    """A name that is like no other gets the list."""
    refused = await setup(tmp_path, "--provider", "olama", "--yes")
    assert "unknown provider 'olama'; did you mean \"ollama\"?" in refused.output
