"""Each check reports its violation, and nothing otherwise."""

from dataclasses import replace

import pytest

from orchestrator.extensions.selftest.crash.evidence import (
    Death,
    Evidence,
    JournalRows,
    MessageRow,
    ReplyRow,
    StepRow,
    TurnRow,
    parse_marks,
)
from orchestrator.extensions.selftest.crash.invariants import check_evidence
from orchestrator.extensions.selftest.crash.ledger import LedgerEvent
from orchestrator.extensions.selftest.crash.scenario import Script, make_scenario

SAID = LedgerEvent("said", "one", 7, 101)
SHOWN = LedgerEvent("shown", "one#1 done", 3, 101)
EFFECT = LedgerEvent("effect", "one.0.effect", at=20)
INBOX = MessageRow(1, 7, "101", "one", "done", "t", 0)
TURN = TurnRow(1, "t", "k", "work", "interactive", "closed", 1, "done")
MODEL = StepRow("t", 1, "model", "m", "pure", None, None, "done", "{}", "{}", 1, None, 10)
CALL = StepRow(
    "t", 2, "tool", "effect", "non_idempotent", '{"name":"one.0.effect"}', "t:2", "done", "{}",
    None, 1, 15, 30,
)  # fmt: skip
HANDED = replace(CALL, seq=3, name="home", args="{}", idem_key="t:3", t_intent=None)
OUT = ReplyRow(1, "t", "101", "edit", "one#1 done", 1, "delivered")
JOURNAL = JournalRows((INBOX,), (TURN,), (MODEL, CALL), (OUT,), offset=8, epoch=1)
EVENTS = (SAID, LedgerEvent("confirm", number=8), LedgerEvent("asked", "one", 0), EFFECT, SHOWN)
WELL = Evidence(make_scenario(Script("one", 101, (("effect",),))), JOURNAL, EVENTS)
UNKNOWN = replace(CALL, state="unknown", result="may or may not have happened")


EDITED = LedgerEvent("edited", "two", 8, 101)
ROWS = (replace(INBOX, text="two"), MessageRow(2, 8, "101", "", "cancelled", None, 0))
WAITED = ((1, "new"), (2, "cancelled"), (1, "claimed"), (1, "done"))
LATE = ((1, "new"), (1, "claimed"), (1, "done"), (2, "cancelled"))
CORRECTED = Evidence(
    make_scenario(
        Script("one", 101), Script("two", 101, (("effect",),), corrects="one"), Script("six", 102)
    ),
    replace(JOURNAL, inbox=ROWS, message_states=WAITED, offset=9),
    (SAID, EDITED, replace(SHOWN, text="two#1 done"), replace(EFFECT, text="one.0.effect")),
)


def with_journal(**changes: object) -> Evidence:
    """The good evidence with another journal."""
    return replace(WELL, journal=replace(JOURNAL, **changes))  # type: ignore[arg-type]  # by name


def with_events(*events: LedgerEvent) -> Evidence:
    """The good evidence with further events."""
    return replace(WELL, events=(*EVENTS, *events))


def test_history_that_went_well_has_no_violation() -> None:
    """No check reports anything."""
    assert check_evidence(WELL) == []


def test_message_that_was_edited_while_it_waited_is_answered_in_its_new_words() -> None:
    """That is no violation."""
    assert check_evidence(CORRECTED) == []


@pytest.mark.parametrize(
    ("name", "evidence"),
    [
        ("lost", with_journal(inbox=())),
        ("lost", with_journal(inbox=(replace(INBOX, state="claimed"),))),
        ("lost", with_journal(inbox=(replace(INBOX, state="dead", claims=2),))),
        ("lost", replace(WELL, events=EVENTS[:-1])),
        ("lost", with_events(LedgerEvent("shown", "one#1 d …", 3, 101))),
        ("lost", replace(CORRECTED, journal=JOURNAL)),
        ("words", replace(CORRECTED, journal=replace(JOURNAL, inbox=ROWS, message_states=LATE))),
        ("words", replace(CORRECTED, events=(*CORRECTED.events, LedgerEvent("asked", "one")))),
        ("duplicate (12)", with_events(LedgerEvent("shown", "one#1 done", 4, 101))),
        ("re-run (5)", with_events(LedgerEvent("effect", "one.0.effect", at=40))),
        ("double effect (6)", with_events(replace(EFFECT, at=21))),
        ("intent (7)", with_events(LedgerEvent("effect", "nobody", at=21))),
        ("intent (7)", with_journal(steps=(MODEL, replace(CALL, t_intent=21)))),
        ("strays", with_events(LedgerEvent("shown", "…", 4, 101))),
        ("confirmed (1)", with_journal(inbox=())),
        ("calls (8)", with_journal(steps=(MODEL, replace(CALL, state="planned")))),
        ("calls (8)", with_journal(steps=(MODEL,))),
        ("transcript (9)", with_events(LedgerEvent("broken", "call x has no result"))),
        ("outbox (11)", with_journal(outbox=(replace(OUT, state="sending"),))),
        ("outbox (11)", with_journal(outbox=(replace(OUT, state="failed_permanent"),))),
        ("model calls (13)", with_events(LedgerEvent("asked", "one", 0))),
        ("model calls (13)", with_journal(steps=(replace(MODEL, usage=None), CALL))),
        ("starts (14)", replace(WELL, boots=2)),
        ("claims", replace(WELL, worker_deaths=2)),
        ("claims", with_journal(inbox=(replace(INBOX, claims=3),))),
        ("waiting (16)", with_journal(inbox=(replace(INBOX, state="new"),))),
        ("handed over", with_journal(turns=(TURN,), steps=(MODEL, CALL, HANDED))),
        ("handed over", with_journal(steps=(MODEL, CALL, replace(HANDED, state="failed")))),
        ("overheard", with_events(LedgerEvent("murmured", "person", 7, -105))),
        ("outdated", with_events(LedgerEvent("outdated", "revision 0 was used, of 2"))),
        ("recovery (20)", replace(WELL, deaths=(Death(JOURNAL, 0, ("a", "b")),))),
        ("journal (2-15)", with_journal(violations=("invariant 2: twice",))),
        ("unknown not told", with_journal(steps=(MODEL, UNKNOWN))),
    ],
)
def test_broken_promise_is_named(name: str, evidence: Evidence) -> None:
    """Its own check reports it."""
    assert name in [violation.check for violation in check_evidence(evidence)]


@pytest.mark.parametrize("turn", ["t", "a later one"])
def test_chat_may_be_about_to_hear_of_an_effect_of_unknown_outcome(turn: str) -> None:
    """The reply that says so may not have arrived, or the one that repeats it."""
    note = replace(
        OUT, turn_id=turn, mode="direct", state="unknown", body="couldn't confirm: effect"
    )
    found = check_evidence(with_journal(steps=(MODEL, UNKNOWN), outbox=(OUT, note)))
    assert "unknown not told" not in [violation.check for violation in found]


@pytest.mark.parametrize(
    ("interrupts", "newer", "lost"), [(True, 8, 0), (True, 6, 1), (False, 8, 1)]
)
def test_message_may_be_cancelled_by_a_newer_one_alone(
    newer: int, lost: int, *, interrupts: bool
) -> None:
    """And only where messages interrupt."""
    cancelled = replace(JOURNAL, inbox=(replace(INBOX, state="cancelled"),))
    said = LedgerEvent("said", "two", newer, 101)
    evidence = replace(
        WELL,
        scenario={**WELL.scenario, "two": Script("two", 101)},
        journal=cancelled,
        events=(*EVENTS, said),
        interrupts=interrupts,
    )
    found = [found for found in check_evidence(evidence) if found.sentence.startswith("one: ")]
    assert [violation.check for violation in found] == ["lost"] * lost


def test_calls_of_all_messages_that_joined_a_turn_are_its_own() -> None:
    """In the order in which they joined."""
    two = replace(INBOX, id=2, update_id=8, text="two")
    scripts = make_scenario(
        Script("one", 101, (("effect",),)), Script("two", 101, (("hand_over",),))
    )
    joined = replace(
        JOURNAL,
        inbox=(INBOX, two),
        turns=(replace(TURN, agent_id="home"),),
        steps=(MODEL, CALL, HANDED),
    )
    evidence = replace(WELL, scenario=scripts, journal=joined)
    assert "calls (8)" not in {found.check for found in check_evidence(evidence)}
    early = replace(HANDED, seq=1)
    wrong = replace(evidence, journal=replace(joined, steps=(MODEL, CALL, early)))
    assert "calls (8)" in {found.check for found in check_evidence(wrong)}


def test_step_that_changed_after_its_end_is_a_violation() -> None:
    """Rows on disk at a death must exist at the end."""
    before = replace(JOURNAL, steps=(MODEL, replace(CALL, result='{"other":1}')))
    found = check_evidence(replace(WELL, deaths=(Death(before, 0),)))
    assert [violation.check for violation in found] == ["re-run (5)"]


def test_replies_out_of_order_are_a_violation() -> None:
    """The reply to the second message may not be seen before that to the first."""
    two = make_scenario(Script("one", 101), Script("two", 101))
    events = (
        SAID,
        LedgerEvent("said", "two", 8, 101),
        LedgerEvent("shown", "two#1 done", 4, 101),
        LedgerEvent("shown", "one#1 done", 3, 101),
    )
    found = check_evidence(replace(WELL, scenario=two, events=events))
    assert "order (4)" in [violation.check for violation in found]


@pytest.mark.parametrize(
    ("rows", "numbers", "found"),
    [
        (("one#1", "two#1"), (3, 5), []),
        (("one#1", "two#1"), (5, 3), ["places (23)"] * 2),
        (("two#1", "one#1"), (3, 5), ["places (23)"]),
        (("one#1", "two#1"), (5, 5), []),
    ],
)
def test_messages_that_stand_in_another_order_are_a_violation(
    rows: tuple[str, ...], numbers: tuple[int, int], found: list[str]
) -> None:
    """By the platform's numbers, even if the first one showed its text first."""
    two = make_scenario(Script("one", 101), Script("two", 101))
    one, other = (replace(OUT, id=number, body=body) for number, body in enumerate(rows))
    events = (
        SAID,
        LedgerEvent("said", "two", 8, 101),
        LedgerEvent("shown", "one#1 done", numbers[0], 101),
        LedgerEvent("shown", "one#1 two#1" if len({*numbers}) == 1 else "two#1", numbers[1], 101),
    )
    evidence = with_journal(outbox=(one, other))
    checks = [v.check for v in check_evidence(replace(evidence, scenario=two, events=events))]
    assert [name for name in checks if name == "places (23)"] == found


def test_unknown_call_that_was_told_is_no_violation() -> None:
    """The model's result and the user's reply both say so."""
    notice = LedgerEvent(
        "shown", "one#1 done\n\n⚠️ I couldn't confirm whether this happened: effect.", 3, 101
    )
    evidence = replace(WELL, journal=replace(JOURNAL, steps=(MODEL, UNKNOWN)))
    assert check_evidence(replace(evidence, events=(*EVENTS, notice))) == []


@pytest.mark.parametrize(
    ("step", "sleeps", "found"),
    [
        (UNKNOWN, True, []),
        (UNKNOWN, False, ["re-run (5)"]),
        (CALL, True, ["re-run (5)"]),
    ],
)
def test_effect_may_come_late_only_of_a_machine_that_slept(
    step: StepRow, *, sleeps: bool, found: list[str]
) -> None:
    """And only if the call had been given up as unknown, which the chat was told."""
    events = tuple(replace(event, at=40) if event == EFFECT else event for event in EVENTS)
    notice = LedgerEvent("shown", "⚠️ I couldn't confirm whether this happened: effect.", 4, 101)
    rows = replace(JOURNAL, steps=(MODEL, step))
    late = replace(WELL, journal=rows, events=(*events, notice), sleeps=sleeps)
    assert [v.check for v in check_evidence(late) if v.check.startswith("re-run")] == found


def test_quotes_and_previews_hold_no_marks() -> None:
    """A reply that quotes an earlier one counts with its own mark only."""
    quote = "⚠️ I couldn't confirm that this reached you earlier:\none#1 done\n\ntwo#1 done"
    assert parse_marks(quote) == ["two#1"]
    assert parse_marks("one#1 is the begi …") == []


@pytest.mark.parametrize(
    ("between", "found"),
    [
        (("⚠️ I couldn't confirm that this reached you earlier:",), []),
        (("⚠️ I couldn't confirm that this reached you earlier:", "one …"), []),
        (("⚠️ I couldn't confirm that this reached you earlier:\na note",), ["duplicate (12)"]),
        ((), ["duplicate (12)"]),
    ],
)
def test_reply_may_stand_twice_only_behind_a_mark(
    between: tuple[str, ...], found: list[str]
) -> None:
    """A lost preview may stand between the mark and the reply."""
    texts = enumerate((*between, "one#1 done"), 50)
    again = (LedgerEvent("shown", text, number, 101) for number, text in texts)
    checks = [v.check for v in check_evidence(replace(WELL, events=(*EVENTS, *again), kills=1))]
    assert checks == found


def test_fact_that_a_done_call_did_not_store_is_a_violation() -> None:
    """A result of a journal tool without its effect is a violation."""
    call = replace(CALL, name="store_fact", args='{"fact":"tea"}')
    evidence = with_journal(steps=(MODEL, call), facts=("coffee",))
    assert "forgotten" in [violation.check for violation in check_evidence(evidence)]
    evidence = with_journal(steps=(MODEL, call), facts=("tea",))
    assert "forgotten" not in [violation.check for violation in check_evidence(evidence)]
