"""Decide about tool calls by buttons, for people who may use the command."""

import re
from typing import NamedTuple

from orchestrator.errors import OrchestratorError
from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import approvals, questions

NOT_APPROVER = "Only my operator may decide this, or a person who may approve calls."
UNKNOWN = "I do not know the question of this button."
_DATA = re.compile(r"(?P<way>[yn]):(?P<code>[^:\s]+):(?P<digest>[0-9a-f]+) (?P<message>\d+)")


class ButtonPress(NamedTuple):
    """A pressed button in a chat; ``text`` as in `InboundMessage`."""

    text: str
    chat_key: str
    by: str
    may_decide: bool

    def answer_press(self, db: Database, now: int) -> str:
        """Decide inside T1; return the text for the person who pressed.

        A question that was decided before keeps its outcome, and the pressed message shows it.
        """
        if not self.may_decide:
            return NOT_APPROVER
        found = _DATA.fullmatch(self.text)
        approval = approvals.find_approval(db, found["code"]) if found else None
        if found is None or approval is None:
            return UNKNOWN
        asked = approvals.load_question(db, approval)
        if found["digest"] != questions.hash_question(asked, self.chat_key):
            return UNKNOWN
        granted = found["way"] == "y"
        try:
            made = questions.decide_question(db, approval.code, self.by, now, granted=granted)
        except OrchestratorError as error:
            return str(error)
        decided = made or approval
        questions.show_outcome(db, decided, now, found["message"])
        return questions.describe_outcome(decided, now).replace("`", "")
