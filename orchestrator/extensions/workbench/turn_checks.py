"""Checks of a tried turn: lines that a person can write, and what they say about a run.

The checks are pure. What only a model can judge stays open, unless the run has its opinion.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import partial
from typing import Any

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
    """Return what each check says about a run; a run that did not happen says nothing."""
    tried = run.done and run.fidelity not in (None, "impossible")
    return tuple(
        CheckVerdict(check=check.line, met=met, text=text)
        for check in checks
        for met, text in [check.judge(run) if tried else (None, run.reason or "it did not run")]
    )


def _parse_line(line: str) -> Check:
    """Return the check that a line is.

    Raises:
        ValueError: it is no check.
    """
    if match := JUDGED.fullmatch(line):
        return Check(line, partial(_find_opinion, line), match["model"], match["question"])
    name, sign, rest = line.partition(":")
    kind = KINDS.get(name + sign)
    if kind is None:
        raise ValueError(f"{line[:SHOWN]!r} is no check; there are: {', '.join(FORMS)}")
    parse, judge = kind
    return Check(line, partial(judge, parse(rest.strip())))


# --- what lines say -------------------------------------------------------------------------------


def _parse_call(rest: str) -> tuple[str, JsonObject]:
    name, _, given = rest.partition(" with ")
    name = _parse_tool(name.strip(), "called: NAME, or called: NAME with {json}")
    if not given:
        return name, {}
    try:
        return name, TypeAdapter(JsonObject).validate_python(orjson.loads(given))
    except (ValidationError, orjson.JSONDecodeError) as error:
        form = "called: NAME with {json}"
        raise ValueError(f'after "with" comes a JSON object: {form}') from error


def _parse_tool(text: str, form: str = "not called: NAME, in which * is any text") -> str:
    if not text or any(sign.isspace() for sign in text):
        raise ValueError(f"{text[:SHOWN]!r} is no name of a tool; write {form}")
    return text


def _parse_count(rest: str) -> int:
    if not (rest.isascii() and rest.isdecimal() and len(rest) <= MAX_DIGITS):
        raise ValueError(f"{rest[:SHOWN]!r} is no number; write for example: calls at most: 3")
    return int(rest)


def _parse_dollars(rest: str) -> float:
    wrong = f"{rest[:SHOWN]!r} is no amount; write costs below: 0.01 (dollars)"
    try:
        limit = float(rest)
    except ValueError as error:
        raise ValueError(wrong) from error
    if not 0 < limit < float("inf"):
        raise ValueError(wrong)
    return limit


def _parse_regex(rest: str) -> str:
    match = re.fullmatch(r"/(.+)/", rest)
    if match is None:
        raise ValueError("the pattern stands between slashes: says: /re/")
    try:
        return PATTERN.validate_python(match[1])
    except ValidationError as error:
        reason = str(error.errors(include_url=False)[0]["msg"])
        reason = reason.removeprefix("Value error, ")
        raise ValueError(f"/{_shorten(match[1])}/: {reason}") from error


def _parse_language(rest: str) -> str:
    known = count_stop_words(())
    if rest not in known:
        raise ValueError(f"{rest[:SHOWN]!r} is no language here; there are: {', '.join(known)}")
    return rest


# --- what runs do ---------------------------------------------------------------------------------


def _judge_called(wanted: tuple[str, JsonObject], run: TriedTurn) -> Judgement:
    name, part = wanted
    calls = [call for call in list_calls(run.tried) if call.name == name]
    if any(_is_part(part, call.arguments) for call in calls):
        return True, ""
    if calls:
        shown = ", ".join(_shorten(_format_json(call.arguments)) for call in calls)
        return _unless_stopped(run), f"{name} was called with {shown}"
    return _unless_stopped(run), f"{name} was not called"


def _judge_not_called(pattern: str, run: TriedTurn) -> Judgement:
    found = [call.name for call in list_calls(run.tried) if fnmatchcase(call.name, pattern)]
    return (False, f"{found[0]} was called") if found else _hold_unless_stopped(run)


def _judge_same_calls(rest: str, run: TriedTurn) -> Judgement:
    del rest
    tried, recorded = list_calls(run.tried), list_calls(run.recorded)
    for one, other in zip(tried, recorded, strict=False):
        if (one.name, one.arguments) != (other.name, other.arguments):
            return False, f"called {_format_call(one)} instead of {_format_call(other)}"
    if len(tried) > len(recorded):
        return False, f"called {_format_call(tried[len(recorded)])} as well"
    if len(tried) < len(recorded):
        return _unless_stopped(run), f"did not call {_format_call(recorded[len(tried)])}"
    return _hold_unless_stopped(run)


def _judge_calls(most: int, run: TriedTurn) -> Judgement:
    count = len(list_calls(run.tried))
    return _hold_unless_stopped(run) if count <= most else (False, f"calls made: {count}")


def _judge_steps(limit: int, run: TriedTurn) -> Judgement:
    count = len(run.tried.steps)
    return _hold_unless_stopped(run) if count < limit else (False, f"steps taken: {count}")


def _judge_cost(limit: float, run: TriedTurn) -> Judgement:
    spent = run.tried.usd
    if spent is None:
        return None, "the model has no price"
    return _hold_unless_stopped(run) if spent < limit else (False, f"cost ${spent:.4f}")


def _judge_words(pattern: str, run: TriedTurn) -> Judgement:
    if matches_pattern(pattern, run.tried.answer, MAX_ANSWER):
        return True, ""
    return _unless_stopped(run), f"said: {_shorten(run.tried.answer)}"


def _judge_missing_words(pattern: str, run: TriedTurn) -> Judgement:
    if matches_pattern(pattern, run.tried.answer, MAX_ANSWER):
        return False, f"said: {_shorten(run.tried.answer)}"
    return _hold_unless_stopped(run)


def _judge_language(wanted: str, run: TriedTurn) -> Judgement:
    hits = count_stop_words([remove_accents(one) for one in extract_words(run.tried.answer)])
    most = max(hits, key=lambda language: (hits[language], language == wanted))
    if not hits[most]:
        return None, "its language cannot be told"
    return (True, "") if most == wanted else (_unless_stopped(run), f"answered in {most}")


def _judge_would_not_ask(rest: str, run: TriedTurn) -> Judgement:
    del rest
    if run.fidelity == "stopped" and WOULD_ASK in run.reason:
        return False, run.reason
    return _hold_unless_stopped(run)


def _find_opinion(line: str, run: TriedTurn) -> Judgement:
    """Return what a model said of a run, if it was asked."""
    said = ((one.met, one.text) for one in run.checks if one.check == line)
    return next(said, (None, "a model judges this"))


JUDGED = re.compile(r'judged by (?P<model>[^\s:"]+(?::[^\s:"]+)*): "(?P<question>[^"]{1,500})"')
# How each kind of line is parsed, and how a run is judged by what it says.
KINDS: dict[str, tuple[Callable[[str], Any], Callable[[Any, TriedTurn], Judgement]]] = {
    "called:": (_parse_call, _judge_called),
    "not called:": (_parse_tool, _judge_not_called),
    "same calls": (str, _judge_same_calls),
    "calls at most:": (_parse_count, _judge_calls),
    "says:": (_parse_regex, _judge_words),
    "does not say:": (_parse_regex, _judge_missing_words),
    "answers in:": (_parse_language, _judge_language),
    "steps below:": (_parse_count, _judge_steps),
    "costs below:": (_parse_dollars, _judge_cost),
    "would not ask": (str, _judge_would_not_ask),
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


# --- calls and texts ------------------------------------------------------------------------------


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


def _format_call(call: TriedCall) -> str:
    return f"{call.name} {_shorten(_format_json(call.arguments))}"


def _format_json(value: JsonObject) -> str:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()


def _shorten(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= SHOWN else f"{line[: SHOWN - 1]}…"
