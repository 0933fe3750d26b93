"""The first evening on the page."""

from pathlib import Path

from fakes.page import page_bench
from fakes.screens import html, request
from pydantic import JsonValue

from orchestrator.extensions.page.screens import first_setup
from orchestrator.extensions.page.screens.first_setup import SetupLook
from orchestrator.extensions.page.setup_answers import (
    PEOPLE_LIST,
    SETUP_BOT,
    SETUP_MODEL,
    SETUP_OFFERS,
    SETUP_STATE,
    BotInUse,
    BotsInUse,
    ListedPeople,
    ListedPerson,
    LocalModels,
    ModelInUse,
    ModelOffers,
    ModelPrice,
    ProviderChoice,
    SetupProgress,
    TrialOutcome,
)
from thinker.protocol.peer import FAILED, Params, RpcError

LOCAL = LocalModels(
    provider="ollama", name="Ollama", address="http://127.0.0.1:11434", models=("qwen3:8b",)
)
GROQ = ProviderChoice(
    provider="groq",
    title="Groq",
    key_variable="GROQ_API_KEY",
    models=(ModelPrice(id="qwen/qwen3-32b", input_usd=0.29, output_usd=0.59),),
)
DEMO = ModelInUse(agent_id="home", provider="demo", model="demo")
STRANGER = ListedPerson(
    channel="telegram", chat_id="9", name="Ann", state="pending", code="K7QM2ABX", first="Hello?"
)


def test_models_of_this_machine_come_first() -> None:
    """They need no key, so one is chosen already; services show their prices."""
    progress = SetupProgress(model=DEMO, local_servers=(LOCAL,))
    look = SetupLook(progress, ModelOffers(local=(LOCAL,), providers=(GROQ,)))
    page = html(first_setup.render_setup(request(), look).content)
    assert "Found on this machine: Ollama" in page
    assert 'value="ollama http://127.0.0.1:11434" selected' in page
    assert 'value="qwen3:8b"' in page
    assert "$0.29 in and $0.59 out" in page


def test_each_step_says_whether_it_is_done() -> None:
    """By the state of the daemon, whichever way it came about."""
    works = ModelInUse(
        agent_id="home", provider="groq", model="qwen/qwen3-32b", works=True, host="10.0.0.9:80"
    )
    bots = BotsInUse(accounts=(BotInUse(account="", token_set=True, bot_name="my_bot"),))
    look = SetupLook(
        SetupProgress(model=works, telegram=bots, first_message=True), ModelOffers(), ()
    )
    titled = first_setup.render_setup(request(), look)
    page = html(titled.content)
    assert titled.lead == "3 of 3 done"
    assert "https://t.me/my_bot" in page
    assert "Use another model" in page
    assert "at 10.0.0.9:80" in page
    assert 'name="token"' not in page


def test_who_writes_to_the_bot_is_let_in_on_the_same_screen() -> None:
    """With the message and the code to decide by."""
    page = html(
        first_setup.render_setup(
            request(), SetupLook(SetupProgress(model=DEMO), ModelOffers(), (STRANGER,))
        ).content
    )
    for word in ("Ann writes", "Hello?", "K7QM2ABX", "Let in", "Refuse"):
        assert word in page


async def test_model_is_tried_with_what_was_written(tmp_path: Path) -> None:
    """The answer of the trial is shown, and the key is never sent back."""

    async def try_model(params: JsonValue) -> Params:
        assert isinstance(params, dict)
        return TrialOutcome(works=params["key"] == "right", text="I am here.", seconds=1.25)

    async def find_state(_: JsonValue) -> Params:
        return SetupProgress(model=DEMO)

    async def list_offers(_: JsonValue) -> Params:
        return ModelOffers(local=(LOCAL,), providers=(GROQ,))

    async with page_bench(tmp_path) as bench:
        bench.answers |= {
            SETUP_MODEL: try_model,
            SETUP_STATE: find_state,
            SETUP_OFFERS: list_offers,
        }
        person = await bench.login()
        again = {"do": "model", "provider": "groq", "key": "bad", "baseUrl": "https://x.test/v1"}
        refused = (await person.post("/setup", again)).text
        assert "<details open" in refused  # the address that was typed stays in sight
        assert "https://x.test/v1" in refused
        fields = {
            "once": "form-0002",
            "do": "model",
            "provider": f"ollama {LOCAL.address}",
            "key": "right",
        }
        answer = await person.post("/setup", fields)
        assert "I am here. (1.2 s)" in answer.text
        assert 'value="right"' not in answer.text
        assert "data-posted" not in answer.text  # so that a message shows up on it
        asked = [params for _, method, params in bench.acts if method == SETUP_MODEL]
        assert isinstance(asked[1], dict)
        assert asked[1]["provider"] == "ollama"
        assert asked[1]["baseUrl"] == LOCAL.address


async def test_bot_that_would_replace_another_asks_first(tmp_path: Path) -> None:
    """It is replaced only with the box ticked; an empty token is not tried."""

    async def try_bot(params: JsonValue) -> Params:
        assert isinstance(params, dict)
        if params["replace"]:
            return TrialOutcome(works=True, text="It is here now.", saved=True)
        return TrialOutcome(works=False, text="That is another bot.", replaces="old_bot")

    async def find_state(_: JsonValue) -> Params:
        return SetupProgress()

    async def list_offers(_: JsonValue) -> Params:
        return ModelOffers()

    async def list_people(_: JsonValue) -> Params:
        return ListedPeople(people=())

    async with page_bench(tmp_path) as bench:
        bench.answers |= {
            SETUP_BOT: try_bot,
            SETUP_STATE: find_state,
            SETUP_OFFERS: list_offers,
            PEOPLE_LIST: list_people,
        }
        person = await bench.login()
        answer = await person.post("/setup", {"do": "bot", "token": " "})
        assert "@BotFather gave you" in answer.text
        answer = await person.post("/setup", {"do": "bot", "token": "1:a", "once": "form-0002"})
        assert "in place of old_bot" in answer.text
        assert "data-posted" in answer.text  # what was typed stays
        fields = {"do": "bot", "token": "1:a", "replace": "yes", "once": "form-0003"}
        assert "It is here now." in (await person.post("/setup", fields)).text


async def test_trial_that_is_refused_keeps_what_was_typed(tmp_path: Path) -> None:
    """With the reason beside it."""

    async def refuse(_: JsonValue) -> Params:
        raise RpcError(FAILED, "the key is set in the environment")

    async def find_state(_: JsonValue) -> Params:
        return SetupProgress(model=DEMO)

    async def list_offers(_: JsonValue) -> Params:
        return ModelOffers(providers=(GROQ,))

    async with page_bench(tmp_path) as bench:
        bench.answers |= {
            SETUP_MODEL: refuse,
            SETUP_STATE: find_state,
            SETUP_OFFERS: list_offers,
        }
        person = await bench.login()
        fields = {"do": "model", "provider": "groq", "model": "big", "key": "k"}
        shown = (await person.post("/setup", fields)).text
        assert "the key is set in the environment" in shown
        assert 'value="big"' in shown
