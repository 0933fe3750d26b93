"""Points from which chats go on."""

from pathlib import Path

from fakes.journal import booted, job
from fakes.trials import ended_with_prompt

from orchestrator.extensions.page.reads import branch_points


def test_point_counts_what_came_after_it(tmp_path: Path) -> None:
    """The answers in its chat; another turn is no point at all."""
    with booted(tmp_path) as db:
        ended_with_prompt(db, "t1")
        with job(db):
            db.execute("UPDATE turn SET started_at = started_at - 10 WHERE id = 't1'")
        ended_with_prompt(db, "t2")
        found = branch_points.find_branch_point(db, "t1")
        assert found is not None
        assert found.later == 1
        last = branch_points.find_branch_point(db, "t2")
        assert last is not None
        assert (last.later, last.calls) == (0, [])
        assert branch_points.find_branch_point(db, "t9") is None


def test_calls_with_effects_outside_are_named_with_their_number(tmp_path: Path) -> None:
    """What only reads, or was never begun, has done nothing."""
    with booted(tmp_path) as db:
        ended_with_prompt(db, "t1")
        with job(db):
            db.execute("UPDATE turn SET started_at = started_at - 10 WHERE id = 't1'")
        ended_with_prompt(db, "t2")
        found = branch_points.find_branch_point(db, "t1")
        assert found is not None
        assert found.calls == [("send_mail", 1)]


def test_forked_chat_knows_where_it_comes_from(tmp_path: Path) -> None:
    """A chat that was never forked comes from nowhere; a rewound one from itself."""
    with booted(tmp_path) as db:
        ended_with_prompt(db, "t1")
        with job(db):
            source = db.execute("SELECT id, chat_key FROM session").fetchone()
            new = (
                "INSERT INTO session(agent_id, chat_key, started_at, parent_id, parent_upto)"
                " VALUES('work', ?, 1, ?, (SELECT max(id) FROM message))"
            )
            db.execute("UPDATE session SET ended_at = 1")
            db.execute(new, ("web/local/ann/fork-1/", source[0]))
            db.execute(new, (source[1], source[0]))
        found = branch_points.find_chat_parent(db, "web/local/ann/fork-1/")
        assert found is not None
        assert (found.key, found.turn_id) == (source[1], "t1")
        assert branch_points.find_chat_parent(db, source[1]) is None
