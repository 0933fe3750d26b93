"""The buttons of questions: who presses one decides, if the same person could with a command."""

import re
from typing import NamedTuple

from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import approvals, questions

NOT_OPERATOR = "Only my operator may decide this."
UNKNOWN = "This button belongs to no question that I know here."
_DATA = re.compile(r"(?P<way>[yn]):(?P<code>[^:\s]+):(?P<digest>[0-9a-f]+) (?P<message>\d+)")


class ButtonPress(NamedTuple):
    """A button that was pressed in a chat; ``text`` as in `InboundMessage`."""

    text: str
    chat_key: str
    by: str
    operator: bool

    def answer(self, db: Database, now: int) -> str:
        """Decide, inside T1, and return what the person who pressed is shown.

        A question that was decided before keeps its outcome, and the pressed message shows it.
        """
        if not self.operator:
            return NOT_OPERATOR
        found = _DATA.fullmatch(self.text)
        approval = approvals.find(db, found["code"]) if found else None
        if found is None or approval is None:
            return UNKNOWN
        if found["digest"] != questions.digest(approval, self.chat_key):
            return UNKNOWN
        granted = found["way"] == "y"
        decided = questions.decide(db, approval.code, self.by, now, granted=granted) or approval
        questions.settle(db, decided, now, found["message"])
        return questions.outcome(decided, now).replace("`", "")
