"""All arguments of a call can be read, page by page."""

import re
from pathlib import Path

from fakes.journal import job, open_turn, opened, planned

from orchestrator.inbound.call_pages import PAGE, format_call_page
from orchestrator.journal.turns import approvals
from orchestrator.journal.turns.approvals import QuestionDetails


def test_the_pages_hold_every_argument_and_say_how_to_go_on(tmp_path: Path) -> None:
    """A question may be too short for them; hidden signs are shown here too."""
    text = "".join(f"{number}\u202e" for number in range(2000))
    with opened(tmp_path) as db:
        open_turn(db)
        (call,) = planned(db, "t1", "pay", arguments={"text": text, "to": "Ada"})
        with job(db):
            approvals.request_approval(db, call, "policy", "c0de", 1)
        shown, command = "", " show c0de"
        while command:
            head, _, rest = format_call_page(db, *command.split()[1:]).partition("\n")
            assert re.fullmatch(r"pay, page \d+ of \d+:", head)
            body, _, command = rest.partition("\n/approve")
            assert len(body) <= PAGE
            shown += body
        assert shown == '  "text": "' + text.replace("\u202e", "\\u202e") + '"\n  "to": "Ada"'


def test_an_unknown_code_or_page_is_told(tmp_path: Path) -> None:
    """The first page stands for one that does not exist."""
    with opened(tmp_path) as db:
        open_turn(db)
        (call,) = planned(db, "t1", "pay", arguments={"n": 3})
        with job(db):
            approvals.request_approval(db, call, "policy", "c0de", 1)
        assert format_call_page(db, "x") == "No call has the code 'x'."
        assert format_call_page(db) == "Which call? Write its code."
        first = 'pay, page 1 of 1:\n  "n": 3'
        assert format_call_page(db, "c0de", "9") == format_call_page(db, "c0de", "x") == first


def test_pages_of_a_question_about_several_calls_have_all_of_them(tmp_path: Path) -> None:
    """Numbered as the question numbers them; the code of a single one is no code."""
    with opened(tmp_path) as db:
        open_turn(db)
        first, second = planned(db, "t1", "pay", "mail", arguments={"to": "Ada"})
        with job(db):
            lead, _ = approvals.request_approval(db, first, "policy", "c0de", 1)
            details = QuestionDetails({"to": ("web", "x.org", True)}, asked_with=lead.id)
            approvals.request_approval(db, second, "policy", "c0de.3", 1, details)
        assert format_call_page(db, "c0de").split("\n") == [
            "pay, mail, page 1 of 1:",
            '1. "pay"',
            '  "to": "Ada"',
            '2. "mail"',
            '  "to": "Ada"  (from the page x.org)',
        ]
        assert format_call_page(db, "c0de.3") == "No call has the code 'c0de.3'."
