"""Log events in words."""

from collections.abc import Mapping

import pytest

from thinker.protocol import log_sentences
from thinker.protocol.log_sentences import format_sentence

FRAME = {"timestamp": "2026-11-23T20:47:48.024367Z", "level": "info"}
TURN = {"agent_id": "home", "turn_id": "01a20a2a37d477d2", "chat_id": "telegram/42/555/"}


def words(event: Mapping[str, object]) -> str:
    """The sentence without its time."""
    return format_sentence({**FRAME, **event}).partition(" ")[2]


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (
            {**TURN, "event": "turn_started", "recipe": "interactive"},
            "home: message from telegram:555 [37d477d2]",
        ),
        ({**TURN, "event": "tool_call", "tool": "get_time"}, "home: runs get_time [37d477d2]"),
        (
            {**TURN, "event": "turn_replied", "ms": 2140, "tokens": 1728, "usd": 0.0012},
            "home: answered telegram:555 in 2.1 s: 1,728 tokens, $0.0012 [37d477d2]",
        ),
        (
            {
                **TURN,
                "event": "turn_replied",
                "ms": 26,
                "tokens": 9,
                "usd": None,
                "stop_reason": "model_error",
            },
            "home: answered telegram:555 in 26 ms: 9 tokens (model_error) [37d477d2]",
        ),
        (
            {"event": "agent_paused", "agent_id": "home", "reason": "over", "level": "warning"},
            "WARNING home: paused: over; then: orchestrator agents resume home",
        ),
        (
            {"event": "messages_accepted", "received": 1, "stored": 0, "refused": []},
            "1 received, 0 for agents; the daemon answers the others",
        ),
        (
            {
                "event": "messages_accepted",
                "received": 2,
                "stored": 1,
                "refused": ["telegram:-7: not addressed"],
            },
            "2 received, 1 for agents; no answer to telegram:-7: not addressed",
        ),
        (
            {"event": "worker_ended", "agent_id": "home", "kind": "crash", "reason": "exit 1"},
            "home: its process ended (crash): exit 1; its messages wait for the next one",
        ),
        (
            {"event": "worker_ended", "agent_id": "home", "kind": "config", "reason": "exit 78"},
            f"home: its process ended (config): exit 78; {log_sentences.REFUSED}",
        ),
    ],
)
def test_known_event_is_a_sentence(event: dict[str, object], expected: str) -> None:
    """With the facts that matter, and the end of the turn's id."""
    assert words(event) == expected


@pytest.mark.parametrize(
    ("usd", "shown"),
    [(None, "9 tokens"), (0.0, "9 tokens"), (0.00002, "9 tokens, under $0.0001")],
)
def test_cost_is_shown_where_there_is_one(usd: float | None, shown: str) -> None:
    """A free model and one without a price cost nothing that could be named."""
    event = {"event": "turn_replied", "chat_id": "x", "ms": 5, "tokens": 9, "usd": usd}
    assert words(event) == f"answered x in 5 ms: {shown}"


def test_unknown_event_shows_its_name_and_facts() -> None:
    """What says why comes first; no event must be registered."""
    event = {"event": "cat_lost", "name": "Tom", "problem": "a\nb", "ways": ["roof", "door"]}
    assert words(event) == "cat lost: a\n         b (name=Tom, ways=roof, door)"


def test_event_without_a_fact_of_its_sentence_shows_what_it_has() -> None:
    """A sentence with a hole says nothing."""
    assert words({"event": "tool_call", "seq": 2}) == "tool call (seq=2)"


def test_traceback_stands_below_its_event() -> None:
    """On lines of its own."""
    shown = words({"event": "turn_broke", "exception": "Traceback\nValueError: x"})
    assert shown == "turn broke \nTraceback\nValueError: x"


def test_hidden_signs_neither_drive_the_terminal_nor_reorder_the_line() -> None:
    """They are shown as signs that cannot be printed."""
    shown = words({"event": "x\x1b[2J", "agent_id": "\u202eb", "problem": "\x9b1m"})
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert "\x9b" not in shown


def test_colors_are_used_when_asked_for_alone() -> None:
    """An error stands out."""
    event = {**FRAME, "event": "storage_full", "problem": "x", "level": "error"}
    assert "\x1b[1;31mERROR" in format_sentence(event, colored=True)
    assert "\x1b" not in format_sentence(event)


@pytest.mark.parametrize(
    ("variables", "wanted"),
    [
        ({"NO_COLOR": "", "TERM": "xterm"}, True),
        ({"NO_COLOR": "1", "TERM": "xterm"}, False),
        ({"NO_COLOR": "", "TERM": "dumb"}, False),
    ],
)
def test_terminal_says_whether_it_wants_colors(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], *, wanted: bool
) -> None:
    """As programs have agreed on (no-color.org)."""
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert log_sentences.is_color_wanted() == wanted


def test_event_without_a_time_is_shown() -> None:
    """A line in the log may be anything."""
    assert format_sentence({"event": "x"}) == "- x"
    assert log_sentences.format_sentence({}) == "- "
