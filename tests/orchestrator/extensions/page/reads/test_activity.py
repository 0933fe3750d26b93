"""What happened lately."""

from pathlib import Path

from fakes.journal import booted, job, next_turn, planned, receive, update

from orchestrator.extensions.page.reads import activity
from orchestrator.extensions.page.reads.activity import RecentSpending
from orchestrator.journal.turns import steps, turns, usage
from thinker.protocol.messages import Usage


def test_messages_are_counted_by_when_they_came(tmp_path: Path) -> None:
    """Older ones are left out."""
    with booted(tmp_path) as db:
        for number, at in enumerate((0, 10, 11, 99)):
            receive(db, update(number + 1), now=at)
        assert activity.count_arrivals(db, 10, 100, 3) == [2, 0, 1]


def test_spending_says_which_calls_have_no_price(tmp_path: Path) -> None:
    """By agent, since an instant."""
    with booted(tmp_path) as db:
        for at in (1, 5):
            usage.record_usage(db, "home", None, "m", Usage(prompt=5, completion=2), None, at)
        hours = (7, *(0,) * 23)
        assert activity.sum_agent_spending(db, 2) == {"home": RecentSpending(7, 0.0, 1, hours)}


def test_spending_is_told_by_the_hour(tmp_path: Path) -> None:
    """A call at the very end is of the last hour."""
    with booted(tmp_path) as db:
        for at in (1, activity.HOUR + 1, 2 * activity.HOUR):
            usage.record_usage(db, "home", None, "m", Usage(prompt=5, completion=2), None, at)
        assert activity.sum_agent_spending(db, 1, hours=2)["home"].hours == (7, 14)


def test_messages_of_today_are_counted_by_their_state(tmp_path: Path) -> None:
    """Those of yesterday are not among them."""
    with booted(tmp_path) as db:
        receive(db, update(1), now=1)
        receive(db, update(2), now=10)
        assert activity.count_messages_since(db, 5) == {"new": 1}


def test_open_turns_say_what_they_do_and_since_when(tmp_path: Path) -> None:
    """The model, a tool, or waiting for a person."""
    with booted(tmp_path) as db:
        receive(db, update(1), now=1)
        turn = next_turn(db, "t1", now=5)
        assert turn is not None
        (asks,) = activity.list_open_turns(db)
        assert (asks.agent_id, asks.state, asks.call, asks.since) == ("work", "running", None, 5)
        (call,) = planned(db, "t1", "read")
        with job(db):
            steps.mark_intent(db, "t1", call.seq, 1, 7)
        (calls,) = activity.list_open_turns(db)
        assert (calls.call, calls.since) == ("read", 7)
        with job(db):
            turns.park(db, turn, "approval")
        (waits,) = activity.list_open_turns(db)
        assert waits.state == "approval"
