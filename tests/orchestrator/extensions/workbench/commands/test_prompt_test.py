"""``orchestrator prompt test``: what it asks a daemon for, and its exit codes."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from fakes.control_server import Answer, ask, command, serving
from fakes.journal import connection_in, job, open_turn, opened
from pydantic import JsonValue

from orchestrator.control.protocol import Ack
from orchestrator.control.trials import (
    TRIAL_SHOW,
    TRIAL_START,
    CheckVerdict,
    SavedTurn,
    TrialChange,
    TrialReport,
    TriedCall,
    TriedStep,
    TriedTurn,
    TurnRecord,
)
from orchestrator.extensions.workbench import saved_turns
from orchestrator.extensions.workbench.gates import GATES_TRIED
from orchestrator.extensions.workbench.set_runs import SETS_JUDGE, SetQuestion
from thinker.protocol.peer import FAILED, RpcError

AGENTS = {
    "agents": [
        {"agentId": "work", "llmProvider": "demo", "gate": {"set": "daily", "atMost": 0.1}},
        {"agentId": "home", "llmProvider": "demo"},
    ]
}
JUDGED = 'judged by openai/m: "Is it polite?"'
CALLED = TurnRecord(steps=(TriedStep(model="m", calls=(TriedCall(name="send_mail"),)),), usd=0.01)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with a turn of `work` in the set `daily`."""
    (tmp_path / "agents.json").write_text(json.dumps(AGENTS))
    with opened(tmp_path) as db:
        open_turn(db, "t1", "Mail\nBob")
        with job(db):
            saved = SavedTurn(set_name="daily", turn="t1")
            saved_turns.add_saved_turn(db, saved, "operator", 1)
            db.execute("UPDATE turn SET state = 'closed'")
            db.execute("INSERT INTO turn_prompt(turn_id, at, body) VALUES('t1', 1, '{}')")
    connection_in(tmp_path).close()
    return tmp_path


def report(tried: TurnRecord, state: str = "done") -> TrialReport:
    """A trial of the turn, which has sent a mail."""
    run = TriedTurn(turn_id="t1", done=True, fidelity="same", tried=tried, recorded=CALLED)
    return TrialReport.model_validate(
        {
            "id": 7,
            "kind": "test",
            "agent_id": "work",
            "state": state,
            "change": TrialChange(),
            "note": "the limit is reached" if state == "stopped" else "",
            "at": 1,
            "turns": (run,) if state == "done" else (),
        }
    )


def daemon(*reports: TrialReport) -> dict[str, Answer]:
    """A daemon whose trial is shown as these reports, one after another."""
    left = list(reports)
    begun = report(CALLED, "running")

    async def show(params: JsonValue) -> TrialReport:
        del params
        return left.pop(0) if len(left) > 1 else left[0]

    return {TRIAL_START: begun, TRIAL_SHOW: show, GATES_TRIED: Ack()}


@pytest.mark.parametrize(
    ("answers", "code", "said"),
    [
        (lambda: daemon(report(CALLED, "running"), report(CALLED)), 0, "daily: 1 green"),
        (lambda: daemon(report(TurnRecord())), 1, "same calls: did not call send_mail"),
        (lambda: daemon(report(CALLED, "stopped")), 3, "daily: 1 could not be tried"),
        (lambda: {TRIAL_START: RpcError(FAILED, "no budget")}, 3, "could not be tried"),
    ],
)
async def test_exit_code_tells_green_red_and_untried_apart(
    home: Path, answers: Callable[[], dict[str, Answer]], code: int, said: str
) -> None:
    """A CI system goes by it; a person reads the reason."""
    async with serving(home, answers()) as server:
        done = await ask(home, "prompt", "test", "work")
    confirmed = [{"agentId": "work", "trial": 7}] if code == 0 else []
    assert server.params(GATES_TRIED) == confirmed
    assert (done.exit_code, said in done.stdout) == (code, True)
    assert "turn t1 Mail Bob" in done.stdout


async def test_trial_has_the_changed_files_and_the_limits(home: Path) -> None:
    """By the names that editors have for them; the report is JSON, and XML for CI systems."""
    skill = home / "repository" / "skills" / "note" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("Say it.")
    other = home / "new.md"
    other.write_text("Be kind.")
    options = ("--change", str(skill), "--change", f"prompts/p.md={other}", "--limit", "0.2")
    more = ("--times", "3", "--pass", "1", "--json", "--junit", str(home / "junit.xml"))
    async with serving(home, daemon(report(CALLED))) as server:
        done = await ask(home, "prompt", "test", "--set", "daily", *options, *more)
        (asked,) = server.params(TRIAL_START)
    assert done.exit_code == 0
    assert isinstance(asked, dict)
    assert asked["change"] is not None
    assert {key: asked[key] for key in ("turns", "kind", "times", "limitUsd", "unrecorded")} == {
        "turns": ["t1"],
        "kind": "test",
        "times": 3,
        "limitUsd": 0.2,
        "unrecorded": "stop",
    }
    change = TrialChange.model_validate(asked["change"])
    assert change.files == {"skills/note/SKILL.md": "Say it.", "prompts/p.md": "Be kind."}
    found = json.loads(done.stdout)
    assert (found["name"], found["trials"], found["outcomes"][0]["outcome"]) == (
        "daily",
        [7],
        "green",
    )
    assert 'failures="0"' in (home / "junit.xml").read_text()


async def test_last_turns_of_an_agent_are_tests_of_their_own(home: Path) -> None:
    """Each must make the same calls again."""
    async with serving(home, daemon(report(CALLED))) as server:
        done = await ask(home, "prompt", "test", "work", "--last", "5")
        (asked,) = server.params(TRIAL_START)
    assert done.exit_code == 0
    assert isinstance(asked, dict)
    assert asked["turns"] == ["t1"]
    assert "last 5 of work: 1 green" in done.stdout


@pytest.mark.parametrize(
    ("answer", "said", "complaint"),
    [
        (None, f"{JUDGED}: so it seems", ""),
        (
            RpcError(FAILED, "the turn is gone"),
            f"{JUDGED}: a model",
            "judged the answers: the turn",
        ),
    ],
)
async def test_models_that_checks_name_are_asked_when_the_trial_has_ended(
    home: Path, answer: RpcError | None, said: str, complaint: str
) -> None:
    """What they say is shown, and decides nothing; nor does it that they cannot be asked."""
    with opened(home) as db, job(db):
        saved = SavedTurn(set_name="daily", turn="t1", checks=f"same calls\n{JUDGED}")
        saved_turns.add_saved_turn(db, saved, "operator", 2)
    verdict = CheckVerdict(check=JUDGED, met=False, text="so it seems")
    (run,) = report(CALLED).turns
    judged = report(CALLED).model_copy(
        update={"turns": (run.model_copy(update={"checks": (verdict,)}),)}
    )
    answers = daemon(report(CALLED)) | {SETS_JUDGE: answer or judged}
    async with serving(home, answers) as server:
        done = await ask(home, "prompt", "test", "work", "--confirm", "acme")
        (asked,) = server.params(SETS_JUDGE)
    question = SetQuestion.model_validate(asked)
    assert (question.id, question.confirmed) == (7, "acme")
    assert [test.checks for test in question.tests] == [saved.checks]
    assert (done.exit_code, said in done.stdout) == (0, True), done.stdout
    assert complaint in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("--last", "3"),
        ("work", "--last", "3", "--set", "daily"),
        ("home",),
        ("work", "--pass", "2"),
        ("--set", "weekly"),
    ],
)
def test_wrong_option_is_told_apart_from_a_red_test(home: Path, arguments: tuple[str, ...]) -> None:
    """Its exit code is 2; without a daemon it is 3."""
    assert command(home, "prompt", "test", *arguments).exit_code == 2
    assert command(home, "prompt", "test", "work").exit_code == 3


def test_unknown_name_without_a_set_is_named(home: Path) -> None:
    """A typing error of an agent is no missing gate."""
    refused = command(home, "prompt", "test", "wrok")
    assert refused.exit_code == 2
    assert "no agent is called 'wrok'" in " ".join(refused.stderr.replace("│", " ").split())


def test_file_whose_path_does_not_tell_what_it_is_needs_its_name(home: Path) -> None:
    """The message shows how to write it."""
    refused = command(home, "prompt", "test", "work", "--change", "note.md")
    assert refused.exit_code == 2
    assert "skills/NAME/SKILL.md=note.md" in refused.stderr
    missing = command(home, "prompt", "test", "work", "--change", "prompts/none.md")
    assert "cannot be read" in missing.stderr
