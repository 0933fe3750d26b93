"""The form of a trial, from its first look to the trial itself."""

import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from fakes.page import PageBench, Person, page_bench
from fakes.trials import ESTIMATE, SETS, TRIAL, ended_with_prompt
from pydantic import BaseModel, JsonValue

from orchestrator.control import editing, trials
from orchestrator.control.trials import TrialEstimate, TrialRequest
from orchestrator.journal.turns import turns
from thinker.protocol.peer import FAILED, RequestHandler, RpcError


def answering(answer: BaseModel) -> RequestHandler:
    """A method with a fixed answer."""

    async def answer_call(params: JsonValue) -> BaseModel:
        del params
        return answer

    return answer_call


@asynccontextmanager
async def trying(folder: Path, estimate: TrialEstimate = ESTIMATE) -> AsyncIterator[PageBench]:
    """A page whose daemon answers about trials, with a turn that can be tried."""
    async with page_bench(folder) as bench:
        await bench.store.transact(turns.boot, 0)
        await bench.store.transact(ended_with_prompt)
        bench.answers[trials.TRIAL_ESTIMATE] = answering(estimate)
        bench.answers[trials.TRIAL_START] = answering(TRIAL)
        bench.answers[trials.SETS_LIST] = answering(SETS)
        files = (editing.EditableFile(name="skills/plan/SKILL.md", title="plan"),)
        bench.answers[editing.FILE_LIST] = answering(editing.EditableFiles(files=files))
        yield bench


def list_requests(bench: PageBench, method: str) -> list[TrialRequest]:
    """What was asked of the daemon."""
    return [TrialRequest.model_validate(params) for _, name, params in bench.acts if name == method]


async def run_after_estimate(person: Person, path: str, fields: Mapping[str, str]) -> str:
    """Send a form for an estimate, and then to run; return where that leads, or what it says."""
    shown = (await person.post(path, {**fields, "do": "estimate"})).text
    found = re.search(r'name="estimated" value="(\w+)"', shown)
    assert found is not None
    answer = await person.post(path, {**fields, "do": "run", "estimated": found[1]})
    return str(answer.headers.get("location", answer.text))


async def test_a_trial_is_paid_only_after_its_estimate(tmp_path: Path) -> None:
    """The form has no button for it before; an estimate of another form does not count."""
    async with trying(tmp_path) as bench:
        person = await bench.login()
        assert 'value="run"' not in (await person.get("/try/t1")).text
        fields = {"model": "groq/small", "limit_usd": "0.05"}
        other = await person.post("/try/t1", {**fields, "do": "run", "estimated": "x"})
        assert "Something was changed after the estimate" in other.text
        assert list_requests(bench, trials.TRIAL_START) == []
        assert await run_after_estimate(person, "/try/t1", fields) == "/trials/7"
        (started,) = list_requests(bench, trials.TRIAL_START)
        assert started.change.model == "groq/small"
        assert (started.turns, started.limit_usd) == (("t1",), 0.05)


async def test_form_says_what_it_asks_for(tmp_path: Path) -> None:
    """Each field; a part of the prompt only where it was edited."""
    async with trying(tmp_path) as bench:
        person = await bench.login()
        fields = {
            "effort": "low",
            "temperature": "0,4",
            "prompt": "today",
            "unrecorded": "ask",
            "times": "3",
            "also": "get_time, list_tasks",
            "without:send_mail": "1",
            "layer:base": "You are <b>kind</b>.\r\nBe short.",
            "layer:playbooks": "Other.",
            "file:skills/plan/SKILL.md": "one\r\ntwo",
        }
        shown = (await person.post("/try/t1", {**fields, "do": "estimate"})).text
        assert "$0.0020 to $0.0060: 1 turn, 2 model calls" in shown
        (asked,) = list_requests(bench, trials.TRIAL_ESTIMATE)
        assert (asked.change.effort, asked.change.temperature) == ("low", 0.4)
        assert asked.change.as_today
        assert (asked.unrecorded, asked.times) == ("ask", 3)
        assert asked.change.layers == {"playbooks": "Other."}
        assert asked.change.files == {"skills/plan/SKILL.md": "one\ntwo"}
        assert asked.change.remove_tools == ("send_mail",)
        assert asked.change.add_tools == ("get_time", "list_tasks")


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"model": "small"}, "write PROVIDER/MODEL"),
        ({"temperature": "hot"}, "a number from 0 to 2"),
        ({"temperature": "nan"}, "a number from 0 to 2"),
        ({"on": "last", "agent": "x", "count": "many"}, "a number of turns"),
        ({"on": "set:none"}, "there are no such turns"),
    ],
)
async def test_wrong_values_are_told_at_their_fields(
    tmp_path: Path, fields: dict[str, str], told: str
) -> None:
    """Nothing is asked of the daemon; what was typed stays."""
    async with trying(tmp_path) as bench:
        person = await bench.login()
        shown = (await person.post("/try/t1", {**fields, "do": "estimate"})).text
        assert told in shown
        assert list_requests(bench, trials.TRIAL_ESTIMATE) == []


async def test_a_new_provider_needs_its_own_yes(tmp_path: Path) -> None:
    """It names how many words of how many people would go there."""
    new = ESTIMATE.model_copy(update={"new_provider": "groq", "messages": 212, "people": 3})
    async with trying(tmp_path, new) as bench:
        person = await bench.login()
        fields = {"model": "groq/small", "limit_usd": "0.05"}
        asked = await run_after_estimate(person, "/try/t1", fields)
        assert "212 messages of 3 people would be sent to groq" in asked
        assert list_requests(bench, trials.TRIAL_START) == []
        sure = {**fields, "confirmed": "groq"}
        assert await run_after_estimate(person, "/try/t1", sure) == "/trials/7"


async def test_an_unknown_price_needs_a_limit_in_tokens(tmp_path: Path) -> None:
    """A limit in dollars would stop nothing."""
    unknown = TrialEstimate(turns=1, calls=2, tokens=2900)
    async with trying(tmp_path, unknown) as bench:
        person = await bench.login()
        assert "No price is known." in await run_after_estimate(
            person, "/try/t1", {"limit_usd": "1"}
        )
        assert list_requests(bench, trials.TRIAL_START) == []
        sure = {"limit_tokens": "5000"}
        assert await run_after_estimate(person, "/try/t1", sure) == "/trials/7"


async def test_an_impossible_trial_has_no_button(tmp_path: Path) -> None:
    """The daemon says why, also where it refuses by an error."""
    wrong = ESTIMATE.model_copy(update={"problem": "hooks <b>change the prompt"})
    async with trying(tmp_path, wrong) as bench:
        person = await bench.login()
        shown = (await person.post("/try/t1", {"do": "estimate"})).text
        assert "hooks &lt;b&gt;change the prompt" in shown
        assert 'value="run"' not in shown

        async def refuse(params: JsonValue) -> BaseModel:
            raise RpcError(FAILED, f"no budget is left for {params is None}")

        bench.answers[trials.TRIAL_ESTIMATE] = refuse
        shown = (await person.post("/try/t1", {"do": "estimate", "model": "groq/x"})).text
        assert "no budget is left for False" in shown
        assert 'value="groq/x"' in shown


async def test_what_the_form_can_solve_is_no_problem(tmp_path: Path) -> None:
    """A limit in tokens and a yes to a provider are asked for, so the button is there."""
    async with trying(tmp_path) as bench:

        async def estimate(params: JsonValue) -> TrialEstimate:
            asked = TrialRequest.model_validate(params)
            missing = asked.limit_tokens is None or asked.confirmed != "groq"
            return TrialEstimate(
                turns=1,
                calls=2,
                tokens=2900,
                new_provider="groq",
                messages=1,
                people=1,
                problem="this needs a limit and a yes" if missing else "",
            )

        bench.answers[trials.TRIAL_ESTIMATE] = estimate
        person = await bench.login()
        shown = (await person.post("/try/t1", {"do": "estimate", "model": "groq/x"})).text
        assert 'value="run"' in shown
        assert "this needs a limit" not in shown
        assert "1 message of 1 person would be sent to groq" in shown
        fields = {"model": "groq/x", "limit_tokens": "10000", "confirmed": "groq"}
        assert await run_after_estimate(person, "/try/t1", fields) == "/trials/7"


async def test_unsaved_text_of_an_editor_is_tried_on_turns_that_used_it(tmp_path: Path) -> None:
    """Its form arrives with the text; the turns are those of the skill."""
    async with trying(tmp_path) as bench:
        person = await bench.login()
        path = "/try?file=skills%2Fplan%2FSKILL.md"
        opened = (await person.post(path, {"text": "New <b>plan", "base": "b", "do": "try"})).text
        assert "New &lt;b&gt;plan" in opened
        assert 'value="skill:plan" selected' in opened
        fields = {"file:skills/plan/SKILL.md": "New", "on": "skill:plan", "limit_usd": "1"}
        assert await run_after_estimate(person, path, fields) == "/trials/7"
        (started,) = list_requests(bench, trials.TRIAL_START)
        assert started.turns == ("t1",)
        assert started.change.files == {"skills/plan/SKILL.md": "New"}


async def test_an_agent_that_is_edited_is_tried_with_its_model(tmp_path: Path) -> None:
    """The fields of its form become those of the trial."""
    async with trying(tmp_path) as bench:
        person = await bench.login()
        fields = {"text": "{}", "field.llmProvider": "groq", "field.model": "small"}
        shown = await person.post("/try?file=agents.json&agent=work", {**fields, "do": "try"})
        assert 'name="model" value="groq/small"' in shown.text


async def test_another_text_can_be_opened(tmp_path: Path) -> None:
    """Only one that exists, with its present words."""
    async with trying(tmp_path) as bench:
        read = editing.FileText(name="skills/plan/SKILL.md", text="Plan now.", base="1")
        bench.answers[editing.FILE_READ] = answering(read)
        person = await bench.login()
        fields = {"do": "open", "open": "skills/plan/SKILL.md"}
        assert "Plan now." in (await person.post("/try/t1", fields)).text
        fields["open"] = "../keys.env"
        assert "Plan now." not in (await person.post("/try/t1", fields)).text


async def test_text_with_unseen_characters_is_tried_as_it_is(tmp_path: Path) -> None:
    """They are shown by their numbers, and cannot be edited away by chance."""
    async with trying(tmp_path) as bench:
        person = await bench.login()
        fields = {"file:skills/plan/SKILL.md": "a\u202eb", "do": "estimate"}
        shown = (await person.post("/try/t1", fields)).text
        assert "a⟦U+202E⟧b</pre>" in shown
        assert 'value="a\u202eb"' in shown
        (asked,) = list_requests(bench, trials.TRIAL_ESTIMATE)
        assert asked.change.files == {"skills/plan/SKILL.md": "a\u202eb"}


async def test_a_set_is_tried_as_a_test(tmp_path: Path) -> None:
    """Its turns are tried by their ids."""
    async with trying(tmp_path) as bench:
        person = await bench.login()
        assert 'value="set:daily" selected' in (await person.get("/try?on=set:daily")).text
        fields = {"on": "set:daily", "limit_usd": "1"}
        assert await run_after_estimate(person, "/try", fields) == "/trials/7"
        (started,) = list_requests(bench, trials.TRIAL_START)
        assert (started.kind, started.turns) == ("test", ("t1",))
        assert started.note == "set daily"  # by whose checks it is judged


async def test_what_cannot_be_tried_says_so(tmp_path: Path) -> None:
    """An unknown turn; only operators try at all."""
    async with trying(tmp_path) as bench:
        person = await bench.login()
        assert "Turn not found" in (await person.get("/try/t9")).text
        assert (await (await bench.login("viewer")).get("/try/t1")).status_code == 403
