"""Checks of tried turns: what a person may write, and what is said of a run."""

import pytest

from orchestrator.control.trials import Fidelity, TriedCall, TriedStep, TriedTurn, TurnRecord
from orchestrator.extensions.workbench.checks import (
    FORMS,
    CheckError,
    judge_turn,
    parse_checks,
)

MAIL = TriedCall(name="send_mail", arguments={"to": "bob", "body": {"text": "Hi", "lines": 1}})
LOOK = TriedCall(name="web_search", arguments={"q": "train"})
GERMAN = "Der Zug fährt um 12:40 Uhr ab und ist nicht zu spät."


def record(*calls: TriedCall, answer: str = GERMAN, usd: float | None = 0.01) -> TurnRecord:
    """A record with one call a step, and the answer in a last one."""
    steps = tuple(TriedStep(model="m", calls=(call,)) for call in calls)
    return TurnRecord(steps=(*steps, TriedStep(model="m", text=answer)), answer=answer, usd=usd)


def run(
    tried: TurnRecord, *recorded: TriedCall, fidelity: Fidelity = "same", reason: str = ""
) -> TriedTurn:
    """A run beside what was recorded."""
    return TriedTurn(
        turn_id="t",
        done=True,
        fidelity=fidelity,
        reason=reason,
        tried=tried,
        recorded=record(*recorded),
    )


def judge(check: str, found: TriedTurn) -> tuple[bool | None, str]:
    """What one line says of a run."""
    (verdict,) = judge_turn(parse_checks(check), found)
    assert verdict.check == check
    return verdict.met, verdict.text


@pytest.mark.parametrize(
    "check",
    [
        "called: send_mail",
        'called: send_mail with {"to": "bob"}',
        'called: send_mail with {"body": {"text": "Hi"}}',
        "not called: delete_*",
        "same calls",
        "calls at most: 2",
        r"says: /ZUG .* \d\d:40/",
        "does not say: /sorry/",
        "answers in: de",
        "steps below: 4",
        "costs below: 0.02",
        "would not ask",
    ],
)
def test_run_that_does_what_its_record_did_meets_these(check: str) -> None:
    """Each line by itself; the arguments of a call need only a part."""
    assert judge(check, run(record(LOOK, MAIL), LOOK, MAIL)) == (True, "")


@pytest.mark.parametrize(
    ("check", "reason"),
    [
        ("called: send_mail", "send_mail was not called"),
        ('called: web_search with {"q": "plane"}', 'was called with {"q":"train"}'),
        ("not called: web_*", "web_search was called"),
        ("same calls", 'did not call send_mail {"body"'),
        ("calls at most: 0", "calls made: 1"),
        ("says: /ticket/", "said: Der Zug"),
        ("does not say: /zug/", "said: Der Zug"),
        ("answers in: en", "answered in de"),
        ("steps below: 2", "steps taken: 2"),
        ("costs below: 0.01", "cost $0.0100"),
    ],
)
def test_run_that_leaves_out_a_call_fails_with_the_reason(check: str, reason: str) -> None:
    """The mail that the record sent was not sent."""
    met, text = judge(check, run(record(LOOK), LOOK, MAIL))
    assert met is False
    assert reason in text


@pytest.mark.parametrize(
    ("tried", "reason"),
    [
        ((MAIL, LOOK), "called send_mail"),
        ((LOOK, MAIL, LOOK), "called web_search"),
        ((LOOK, MAIL.model_copy(update={"arguments": {"to": "eve"}})), '{"to":"eve"} instead of'),
    ],
)
def test_same_calls_are_the_same_in_order_and_arguments(
    tried: tuple[TriedCall, ...], reason: str
) -> None:
    """Another order, one more, other arguments."""
    met, text = judge("same calls", run(record(*tried), LOOK, MAIL))
    assert met is False
    assert reason in text


@pytest.mark.parametrize(
    ("check", "met"),
    [
        ("called: web_search", True),
        ("called: send_mail", None),
        ("not called: web_search", False),
        ("not called: send_mail", None),
        ("same calls", None),
        ("calls at most: 0", False),
        ("calls at most: 1", None),
        ("says: /paid/", None),
        ("would not ask", False),
    ],
)
def test_stopped_run_is_judged_by_what_it_did_so_far(check: str, *, met: bool | None) -> None:
    """What it might have done later cannot be told."""
    found = run(
        record(LOOK, answer=""), LOOK, fidelity="stopped", reason="would have asked: send_mail"
    )
    assert judge(check, found)[0] is met


def test_run_that_did_not_happen_meets_and_fails_nothing() -> None:
    """The reason is told instead."""
    lost = run(record(), fidelity="impossible", reason="a picture is gone")
    assert judge("not called: *", lost) == (None, "a picture is gone")
    assert judge("says: /./", TriedTurn(turn_id="t")) == (None, "it did not run")


def test_what_cannot_be_known_is_open() -> None:
    """A model without a price, an answer without words, a question for a model."""
    found = run(record(answer="12:40", usd=None))
    assert judge("costs below: 1", found) == (None, "the model has no price")
    assert judge("answers in: de", found) == (None, "its language cannot be told")
    line = 'judged by openai/gpt-5-mini: "Is it polite?"'
    assert judge(line, found) == (None, "a model judges this")
    (asked,) = parse_checks(line)
    assert (asked.model, asked.question) == ("openai/gpt-5-mini", "Is it polite?")


def test_long_answer_is_read_to_its_end() -> None:
    """Also one that makes engines slow that go back."""
    long = "a" * 90_000 + "-end"
    assert judge("says: /-end$/", run(record(answer=long))) == (True, "")
    assert judge(r"does not say: /(\w+\s?)+!/", run(record(answer=long))) == (True, "")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("call: x", "'call: x' is no check; there are: called: NAME"),
        ("called:", "write called: NAME"),
        ("called: x with nothing", 'after "with" comes a JSON object'),
        ("called: x with [1]", 'after "with" comes a JSON object'),
        ("not called: two words", "is no name of a tool"),
        ("calls at most: -1", "write calls at most: N"),
        ("steps below: many", "write steps below: N"),
        ("costs below: 0", "write costs below: 0.01"),
        ("says: hello", "between slashes"),
        ("says: /(/", "unclosed group"),
        ("does not say: /(?=x)/", "look-around"),
        ("answers in: xx", "there are: en, de"),
        ("judged by x: polite", "is no check"),
    ],
)
def test_line_that_is_no_check_is_named_with_what_is_allowed(line: str, reason: str) -> None:
    """The number counts empty lines and remarks as well."""
    with pytest.raises(CheckError) as caught:
        parse_checks(f"# what must hold\n\nsame calls\n{line}\n")
    assert str(caught.value).startswith("line 4 of the checks: ")
    assert reason in str(caught.value)


def test_turn_has_at_least_one_check_and_a_list_of_them() -> None:
    """The message shows the simplest one, and the list names all forms."""
    for text in ("", "# nothing\n", "same calls\n" * 101):
        with pytest.raises(CheckError, match="1 to 100 checks, such as: same calls"):
            parse_checks(text)
    assert len(FORMS) == 12
