"""Checks of a tried turn: lines that a person can write, and what they say about a run.

The checks are pure. What only a model can judge stays open.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase

import orjson
from pydantic import TypeAdapter, ValidationError

from orchestrator.agentsfile.text_patterns import TextPattern, matches_pattern
from orchestrator.control.trials import CheckVerdict, TriedCall, TriedTurn, TurnRecord
from orchestrator.errors import OrchestratorError
from orchestrator.journal.memory.fulltext import extract_words
from orchestrator.journal.memory.stop_words import count_stop_words, remove_accents
from thinker.protocol.messages import JsonObject

MAX_ANSWER = 100_000  # characters of an answer that patterns are matched against
MAX_LINES = 100
MAX_DIGITS = 9
SHOWN = 80  # characters of an answer or of arguments in a verdict
WOULD_ASK = "would have asked"  # in the reason of a run that an approval stopped
PATTERN = TypeAdapter[str](TextPattern)
Judgement = tuple[bool | None, str]
"""Whether a run meets a check (None: it cannot be told) and why not."""


class CheckError(OrchestratorError):
    """A line that is no check."""


@dataclass(frozen=True)
class Check:
    """One line: ``judge`` tells whether a run meets it, or ``model`` answers ``question``."""

    line: str
    judge: Callable[[TriedTurn], Judgement]
    model: str = ""
    question: str = ""


def parse_checks(text: str) -> tuple[Check, ...]:
    """Parse checks, one a line; empty lines and those that begin with ``#`` say nothing.

    Raises:
        CheckError: a line is no check; the message has its number and what is allowed.
    """
    checks = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip() and not line.lstrip().startswith("#"):
            try:
                checks.append(_parse_line(line.strip()))
            except ValueError as error:
                raise CheckError(f"line {number} of the checks: {error}") from error
    if not 0 < len(checks) <= MAX_LINES:
        raise CheckError(f"a turn has 1 to {MAX_LINES} checks, such as: same calls")
    return tuple(checks)


def judge_turn(checks: Iterable[Check], run: TriedTurn) -> tuple[CheckVerdict, ...]:
    """Return what each check says about a run; nothing can be told of one that did not happen."""
    tried = run.done and run.fidelity not in (None, "impossible")
    return tuple(
        CheckVerdict(check=check.line, met=met, text=text)
        for check in checks
        for met, text in [check.judge(run) if tried else (None, run.reason or "it did not run")]
    )


def _parse_line(line: str) -> Check:
    """Return the check that a line is.

    Raises:
        ValueError: it is none.
    """
    if match := JUDGED.fullmatch(line):
        return Check(line, _leave_open, match["model"], match["question"])
    name, sign, rest = line.partition(":")
    build = BUILDERS.get(name + sign)
    if build is None:
        raise ValueError(f"{line[:SHOWN]!r} is no check; there are: {', '.join(FORMS)}")
    return Check(line, build(rest.strip()))


def _build_called(rest: str) -> Callable[[TriedTurn], Judgement]:
    name, _, given = rest.partition(" with ")
    name = _require_text(name.strip(), "called: NAME, or called: NAME with {json}")
    wanted: JsonObject = {}
    if given:
        try:
            wanted = TypeAdapter(JsonObject).validate_python(orjson.loads(given))
        except (ValidationError, orjson.JSONDecodeError) as error:
            raise ValueError(
                'after "with" comes a JSON object: called: NAME with {json}'
            ) from error

    def judge(run: TriedTurn) -> Judgement:
        calls = [call for call in list_calls(run.tried) if call.name == name]
        if any(_is_part(wanted, call.arguments) for call in calls):
            return True, ""
        if calls:
            shown = ", ".join(_shorten(_format_json(call.arguments)) for call in calls)
            return _unless_stopped(run), f"{name} was called with {shown}"
        return _unless_stopped(run), f"{name} was not called"

    return judge


def _build_not_called(rest: str) -> Callable[[TriedTurn], Judgement]:
    pattern = _require_text(rest, "not called: NAME, in which * is any text")

    def judge(run: TriedTurn) -> Judgement:
        found = [call.name for call in list_calls(run.tried) if fnmatchcase(call.name, pattern)]
        if found:
            return False, f"{found[0]} was called"
        return _hold_unless_stopped(run)

    return judge


def _judge_same_calls(run: TriedTurn) -> Judgement:
    tried, recorded = list_calls(run.tried), list_calls(run.recorded)
    for one, other in zip(tried, recorded, strict=False):
        if (one.name, one.arguments) != (other.name, other.arguments):
            return False, f"called {_format_call(one)} instead of {_format_call(other)}"
    if len(tried) > len(recorded):
        return False, f"called {_format_call(tried[len(recorded)])} as well"
    if len(tried) < len(recorded):
        return _unless_stopped(run), f"did not call {_format_call(recorded[len(tried)])}"
    return _hold_unless_stopped(run)


def _build_calls_at_most(rest: str) -> Callable[[TriedTurn], Judgement]:
    most = _parse_number(rest, "calls at most: N")

    def judge(run: TriedTurn) -> Judgement:
        count = len(list_calls(run.tried))
        return _hold_unless_stopped(run) if count <= most else (False, f"calls made: {count}")

    return judge


def _build_steps_below(rest: str) -> Callable[[TriedTurn], Judgement]:
    limit = _parse_number(rest, "steps below: N")

    def judge(run: TriedTurn) -> Judgement:
        count = len(run.tried.steps)
        return _hold_unless_stopped(run) if count < limit else (False, f"steps taken: {count}")

    return judge


def _build_costs_below(rest: str) -> Callable[[TriedTurn], Judgement]:
    form = "costs below: 0.01 (dollars)"
    try:
        limit = float(rest)
    except ValueError as error:
        raise ValueError(f"{rest!r} is no amount; write {form}") from error
    if not 0 < limit < float("inf"):
        raise ValueError(f"{rest!r} is no amount; write {form}")

    def judge(run: TriedTurn) -> Judgement:
        spent = run.tried.usd
        if spent is None:
            return None, "the model has no price"
        return _hold_unless_stopped(run) if spent < limit else (False, f"cost ${spent:.4f}")

    return judge


def _build_says(rest: str) -> Callable[[TriedTurn], Judgement]:
    pattern = _parse_pattern(rest, "says: /re/")

    def judge(run: TriedTurn) -> Judgement:
        if matches_pattern(pattern, run.tried.answer, MAX_ANSWER):
            return True, ""
        return _unless_stopped(run), f"said: {_shorten(run.tried.answer)}"

    return judge


def _build_does_not_say(rest: str) -> Callable[[TriedTurn], Judgement]:
    pattern = _parse_pattern(rest, "does not say: /re/")

    def judge(run: TriedTurn) -> Judgement:
        if matches_pattern(pattern, run.tried.answer, MAX_ANSWER):
            return False, f"said: {_shorten(run.tried.answer)}"
        return _hold_unless_stopped(run)

    return judge


def _build_answers_in(rest: str) -> Callable[[TriedTurn], Judgement]:
    known = count_stop_words(())
    if rest not in known:
        raise ValueError(f"{rest!r} is no language here; there are: {', '.join(known)}")

    def judge(run: TriedTurn) -> Judgement:
        hits = count_stop_words([remove_accents(one) for one in extract_words(run.tried.answer)])
        most = max(hits, key=lambda language: (hits[language], language == rest))
        if not hits[most]:
            return None, "its language cannot be told"
        return (True, "") if most == rest else (_unless_stopped(run), f"answered in {most}")

    return judge


def _judge_would_not_ask(run: TriedTurn) -> Judgement:
    if run.fidelity == "stopped" and WOULD_ASK in run.reason:
        return False, run.reason
    return _hold_unless_stopped(run)


def _leave_open(run: TriedTurn) -> Judgement:
    del run
    return None, "a model judges this"


JUDGED = re.compile(r'judged by (?P<model>[^\s:"]+(?::[^\s:"]+)*): "(?P<question>[^"]{1,500})"')
BUILDERS: dict[str, Callable[[str], Callable[[TriedTurn], Judgement]]] = {
    "called:": _build_called,
    "not called:": _build_not_called,
    "same calls": lambda _: _judge_same_calls,
    "calls at most:": _build_calls_at_most,
    "says:": _build_says,
    "does not say:": _build_does_not_say,
    "answers in:": _build_answers_in,
    "steps below:": _build_steps_below,
    "costs below:": _build_costs_below,
    "would not ask": lambda _: _judge_would_not_ask,
}
FORMS = (
    "called: NAME",
    "called: NAME with {json}",
    "not called: GLOB",
    "same calls",
    "calls at most: N",
    "says: /re/",
    "does not say: /re/",
    "answers in: de",
    "steps below: N",
    "costs below: 0.01",
    "would not ask",
    'judged by MODEL: "…"',
)


def list_calls(record: TurnRecord) -> list[TriedCall]:
    """Return the calls of all steps, in their order."""
    return [call for step in record.steps for call in step.calls]


def _unless_stopped(run: TriedTurn) -> bool | None:
    """Return False, or None for a run that stopped before it could do what it lacks."""
    return None if run.fidelity == "stopped" else False


def _hold_unless_stopped(run: TriedTurn) -> Judgement:
    return (None, run.reason) if run.fidelity == "stopped" else (True, "")


def _is_part(wanted: object, found: object) -> bool:
    """Return whether a value has all of another one: objects by their members."""
    if isinstance(wanted, dict) and isinstance(found, dict):
        return all(key in found and _is_part(value, found[key]) for key, value in wanted.items())
    return wanted == found


def _parse_pattern(rest: str, form: str) -> str:
    match = re.fullmatch(r"/(.+)/", rest)
    if match is None:
        raise ValueError(f"the pattern stands between slashes: {form}")
    try:
        return PATTERN.validate_python(match[1])
    except ValidationError as error:
        reason = str(error.errors(include_url=False)[0]["msg"])
        raise ValueError(
            f"/{_shorten(match[1])}/: {reason.removeprefix('Value error, ')}"
        ) from error


def _parse_number(rest: str, form: str) -> int:
    if not (rest.isascii() and rest.isdecimal() and len(rest) <= MAX_DIGITS):
        raise ValueError(f"{rest[:SHOWN]!r} is no number; write {form}")
    return int(rest)


def _require_text(text: str, form: str) -> str:
    if not text or any(sign.isspace() for sign in text):
        raise ValueError(f"{text[:SHOWN]!r} is no name of a tool; write {form}")
    return text


def _format_call(call: TriedCall) -> str:
    return f"{call.name} {_shorten(_format_json(call.arguments))}"


def _format_json(value: JsonObject) -> str:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()


def _shorten(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= SHOWN else f"{line[: SHOWN - 1]}…"
