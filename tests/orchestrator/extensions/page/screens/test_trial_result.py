"""A trial on the page."""

from pathlib import Path

from fakes.page import page_bench
from fakes.screens import html, request
from fakes.trials import RUN, STOPPED, TRIAL
from pydantic import JsonValue

from orchestrator.control import editing, trials
from orchestrator.control.trials import TrialReport
from orchestrator.extensions.page.screens import trial_result


def draw(trial: TrialReport, role: str = "operator", **query: str) -> str:
    """What the screen of a trial draws."""
    return html(trial_result.render_trial(request(role, **query), trial).content)


def test_runs_with_other_effects_come_first() -> None:
    """Then those with other calls; each leads to its run beside its record."""
    page = draw(TRIAL)
    assert page.index("send_mail was not called") < page.index("get_weather was called too")
    assert "1 with other effects · 1 call something else · 1 stopped" in page
    assert "/trials/7?turn=t1&amp;nth=1#run" in page
    assert "(-81 %)" in page


def test_run_stands_beside_its_record() -> None:
    """With both answers, where results come from, and harmless texts of others."""
    page = draw(TRIAL, turn="t1")
    assert "= recorded result" in page
    assert "= the recorded request" in page
    assert "another request: skills" in page
    assert "Shall I put it into the plan?" in page
    assert "send_mail is missing" in page
    assert "<script" not in page
    assert "⟦U+202E⟧" in page


def test_a_call_without_record_asks_for_its_result() -> None:
    """One field for each; only who may change something has them."""
    assert 'name="typed:get_weather-1"' in draw(TRIAL)
    assert "at: Ulm; in “Plan Friday”" in draw(TRIAL)
    assert "typed:" not in draw(TRIAL, "viewer")


def test_a_single_run_is_shown_at_once() -> None:
    """Without a list; a running trial shows what it has so far."""
    page = draw(TRIAL.model_copy(update={"turns": (RUN,), "state": "done"}))
    assert "recorded" in page
    assert "Otherwise" not in page
    running = TRIAL.model_copy(update={"turns": (), "state": "running", "waiting": 3})
    shown = trial_result.render_trial(request(), running)
    assert "runs, 3 to go" in html(shown.lead)
    assert "/act/trial/stop" in html(shown.actions)
    assert "No turn has ended yet" in html(shown.content)


def test_unfinished_run_claims_nothing() -> None:
    """It is neither alike nor cheaper."""
    page = draw(TRIAL.model_copy(update={"turns": (STOPPED,)}))
    assert "alike" not in page
    assert "It has not come to its end." in page


async def test_typed_results_go_on_with_the_trial(tmp_path: Path) -> None:
    """Those that stayed empty are left out; the trial is shown again."""
    async with page_bench(tmp_path) as bench:

        async def go_on(params: JsonValue) -> TrialReport:
            del params
            return TRIAL

        bench.answers[trials.TRIAL_GO_ON] = bench.answers[trials.TRIAL_SHOW] = go_on
        person = await bench.login()
        assert "get_weather returns" in (await person.get("/trials/7")).text
        fields = {"typed:get_weather-1": "sunny\r\nwarm", "typed:other": " "}
        answer = await person.post("/trials/7", fields)
        assert answer.headers["location"] == "/trials/7"
        sent = {"id": 7, "brief": False, "typed": {"get_weather-1": "sunny\nwarm"}}
        assert ("web:ann", trials.TRIAL_GO_ON, sent) in bench.acts
        assert "no such trial" in (await person.get("/trials/x")).text


async def test_what_was_tried_opens_in_its_editor(tmp_path: Path) -> None:
    """The text with the digest of the present one, the model in the form of its agent."""
    async with page_bench(tmp_path) as bench:

        async def show(params: JsonValue) -> TrialReport:
            del params
            return TRIAL

        async def read(params: JsonValue) -> editing.FileText:
            named = editing.VersionName.model_validate(params)
            text = '{"agents": [{"agentId": "x"}, {"agentId": "home"}]}'
            return editing.FileText(name=named.name, text=text, base="b1")

        bench.answers[trials.TRIAL_SHOW] = show
        bench.answers[editing.FILE_READ] = read
        page = (await (await bench.login()).get("/trials/7")).text
        assert 'action="/texts/skills/plan/SKILL.md"' in page
        assert 'name="text" value="Plan."' in page
        assert 'name="field.model" value="small"' in page
        assert 'name="field.llmProvider" value="groq"' in page
        assert "/settings/form?at=agents%2F1" in page or "agents" in page
