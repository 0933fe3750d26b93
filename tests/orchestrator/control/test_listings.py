"""Lists of what waits for an operator, as commands and clients get them."""

from pathlib import Path

from fakes.journal import job, open_turn, opened, planned

from orchestrator.control import listings
from orchestrator.control.protocol import ArgumentMark
from orchestrator.journal.turns import approvals
from orchestrator.journal.turns.approvals import QuestionDetails


def test_question_about_several_calls_is_one_item_with_all_of_them(tmp_path: Path) -> None:
    """Each has the sources of its arguments in words, those first that decide."""
    with opened(tmp_path) as db:
        open_turn(db)
        first, second = planned(db, "t1", "pay", "mail")
        sources = {"body": ("tool", "wiki", False), "to": ("web", "x.org", True)}
        with job(db):
            lead, _ = approvals.request_approval(db, first, "policy", "c0de", 1)
            details = QuestionDetails(sources, asked_with=lead.id)
            approvals.request_approval(db, second, "it acts", "c0de.3", 1, details)
        (item,) = listings.list_approvals(db, 2).approvals
        assert (item.code, item.chat, item.sources) == ("c0de", "telegram:7", ())
        assert [(call.tool, call.reason) for call in item.calls] == [
            ("pay", "policy"),
            ("mail", "it acts"),
        ]
        assert item.others[0].sources == (
            ArgumentMark(argument="to", source="from the page x.org", decides=True),
            ArgumentMark(argument="body", source="from the tool wiki", decides=False),
        )
