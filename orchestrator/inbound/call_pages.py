"""The pages of waiting calls' arguments, which ``/approve show`` sends to a chat."""

import json
from collections.abc import Iterator, Sequence

from orchestrator import chat_texts
from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import approvals
from orchestrator.journal.turns.approvals import Approval

PAGE = 1_900  # characters; a message takes them even if all are wide


def format_call_page(db: Database, code: str = "", number: str = "1") -> str:
    """Return a page of the arguments of the calls with this code; pages count from 1."""
    found = approvals.find_approval(db, code)
    if found is None:
        return f"No call has the code {code!r}." if code else "Which call? Write its code."
    asked = approvals.load_question(db, found)
    text = "\n".join(_iter_lines(asked))
    pages = max(1, -(-len(text) // PAGE))
    at = int(number) if number.isdecimal() and 1 <= int(number) <= pages else 1
    shown = text[(at - 1) * PAGE : at * PAGE] or "without arguments"
    more = "" if at == pages else f"\n/approve show {code} {at + 1}"
    return f"{approvals.name_calls(asked)}, page {at} of {pages}:\n{shown}{more}"


def _iter_lines(asked: Sequence[Approval]) -> Iterator[str]:
    for number, one in enumerate(asked, 1):
        if len(asked) > 1:
            yield f"{number}. {chat_texts.format_on_one_line(one.tool)}"
        yield from chat_texts.format_arguments(json.loads(one.arguments), one.sources)
