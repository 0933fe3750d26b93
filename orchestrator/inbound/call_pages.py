"""The pages of a waiting call's arguments, which ``/approve show`` sends to a chat."""

import json

from orchestrator import chat_texts
from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import approvals

PAGE = 1_900  # characters; a message takes them even if all are wide


def format_call_page(db: Database, code: str = "", number: str = "1") -> str:
    """Return a page of the arguments of the call with this code; pages count from 1."""
    found = approvals.find_approval(db, code)
    if found is None:
        return f"No call has the code {code!r}." if code else "Which call? Write its code."
    text = "\n".join(chat_texts.format_arguments(json.loads(found.arguments)))
    pages = max(1, -(-len(text) // PAGE))
    at = int(number) if number.isdecimal() and 1 <= int(number) <= pages else 1
    shown = text[(at - 1) * PAGE : at * PAGE] or "without arguments"
    more = "" if at == pages else f"\n/approve show {code} {at + 1}"
    return f"{found.tool}, page {at} of {pages}:\n{shown}{more}"
