"""What a turn has read is kept with the turn."""

from pathlib import Path

from fakes.journal import booted, open_turn

from orchestrator.journal.turns import taint
from orchestrator.journal.turns.taint import CONVERSATION, Taint
from thinker.protocol.messages import ToolResult


def test_turn_gathers_what_it_reads(tmp_path: Path) -> None:
    """Each source counts once, and what was known stays known."""
    with booted(tmp_path) as db:
        open_turn(db)
        assert not taint.load_taint(db, "t1")
        taint.add_taint(db, "t1", Taint(private={"facts": True}))
        assert not taint.load_taint(db, "t1").has_read_both
        page = ToolResult(call_id="1", name="fetch", content="x", origin="web")
        taint.add_taint(db, "t1", taint.make_result_taint(page))
        taint.add_taint(db, "t1", taint.make_result_taint(page))
        found = taint.load_taint(db, "t1")
        assert found.has_read_both
        assert found.untrusted == {"fetch": "web"}
        assert found.private == {"facts": True}
        assert found.origin == "web"


def test_receipt_of_our_own_tool_taints_nothing(tmp_path: Path) -> None:
    """Only what was read counts."""
    with booted(tmp_path) as db:
        open_turn(db)
        taint.add_taint(
            db, "t1", taint.make_result_taint(ToolResult(call_id="1", name="x", content="done"))
        )
        assert db.execute("SELECT taint FROM turn").get == "{}"


def test_history_is_not_what_the_turn_itself_has_read() -> None:
    """So one page does not taint a chat for ever."""
    both: Taint = Taint(untrusted={CONVERSATION: "tool", "page": "web"})
    assert both.own_taint.untrusted == {"page": "web"}
