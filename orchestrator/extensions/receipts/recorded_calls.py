"""Read from the journal what a turn and its conversation have called.

The calls of a conversation are those of its turns, as far as they are in its line, and of their
subagents at any depth. A turn without history, as of a task, has its own and its subagents' only.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import orjson

from orchestrator.extensions.receipts.judge import (
    MAX_CALLS,
    MAX_DETAIL,
    CallState,
    JudgedCall,
    KnownTool,
    TurnEvidence,
)
from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import subagents
from orchestrator.journal.turns.sessions import LINE, NEWEST_OF_LINE
from orchestrator.journal.turns.steps import HARMLESS
from orchestrator.journal.turns.turns import Turn

WITH_HISTORY = frozenset({"interactive", "subagent"})  # kinds of turns that read earlier ones
MAX_TURNS = 50  # newest turns of a conversation
MAX_INHERITED = 200  # messages of the conversations that it goes on from
# The turn ?1 alone, or those of the session ?2 too.
OWN = "WITH RECURSIVE known(id) AS (SELECT id FROM turn WHERE id = ?1"
LINKED = f"""{LINE.replace("?1", "?2")}, known(id) AS (SELECT id FROM turn WHERE id = ?1
  UNION SELECT id FROM (SELECT id FROM turn WHERE session_id = ?2
    ORDER BY started_at DESC LIMIT {MAX_TURNS}) AS newest
  UNION SELECT turn_id FROM (SELECT turn_id FROM line CROSS JOIN message
    WHERE {NEWEST_OF_LINE.format(MAX_INHERITED)} AND turn_id IS NOT NULL
    ORDER BY message.id DESC LIMIT {MAX_INHERITED}) AS inherited"""
WORKING = """UNION SELECT inbox.turn_id FROM known
  JOIN subagent_run AS run ON run.turn_id = known.id
  JOIN inbox ON inbox.id = run.inbox_id WHERE inbox.turn_id IS NOT NULL)"""
CALLS = f"""SELECT step.turn_id, step.seq, step.name, substr(step.args, 1, {MAX_DETAIL}),
  step.state, step.class, substr(coalesce(step.result ->> '$.content', ''), 1, {MAX_DETAIL}),
  step.answered_by IS NOT NULL,
  EXISTS(SELECT 1 FROM approval WHERE approval.turn_id = step.turn_id
    AND approval.seq = step.seq AND approval.state <> 'used'),
  EXISTS(SELECT 1 FROM subagent_run AS run JOIN inbox ON inbox.id = run.inbox_id
    WHERE run.turn_id = step.turn_id AND run.seq = step.seq AND {subagents.OPEN})
  FROM known CROSS JOIN step WHERE step.turn_id = known.id AND step.kind = 'tool'
  ORDER BY step.t_plan DESC, step.turn_id DESC, step.seq DESC LIMIT {MAX_CALLS}"""
TOOLS = """SELECT body FROM prompt_part WHERE digest = (SELECT tools FROM turn_prompt
  WHERE turn_id = ? ORDER BY at DESC LIMIT 1)"""


@dataclass(frozen=True)
class RecordedEffect:
    """A tool call of the journal; it was ``asked`` about and not granted, or is ``open`` yet."""

    turn_id: str
    seq: int
    tool: str
    arguments: str | None
    state: str
    side_effect: str
    result: str
    repeated: bool
    asked: bool
    open: bool

    def find_state(self) -> CallState:
        """Return what is known of the call's effect."""
        if self.repeated:
            return "ledger"
        if self.open or self.state == "planned":
            return "waiting"
        if self.state == "intent":
            return "waiting" if self.side_effect in HARMLESS else "unknown"
        if self.state == "failed":
            return "denied" if self.asked else "failed"
        return "done" if self.state == "done" else "unknown"


class RecordedEvidence(NamedTuple):
    """The calls of a conversation, oldest first, and the tools of its last turn.

    ``handed_back`` says whether a program runs some of the tools itself.
    """

    effects: Sequence[RecordedEffect]
    tools: Sequence[KnownTool]
    handed_back: bool

    def build_facts(self) -> TurnEvidence:
        """Return the evidence as the judge reads it."""
        about = {tool.name: tool.description for tool in self.tools}
        facts = [
            JudgedCall(
                tool=effect.tool,
                description=about.get(effect.tool, ""),
                arguments=effect.arguments or "",
                result=effect.result,
                state=effect.find_state(),
            )
            for effect in self.effects
        ]
        return TurnEvidence(facts, self.tools)


def load_evidence(db: Database, turn: Turn) -> RecordedEvidence:
    """Return what a turn and its conversation have called, and could have."""
    line = turn.recipe in WITH_HISTORY
    query = f"{LINKED if line else OWN} {WORKING} {CALLS}"
    rows = db.execute(query, (turn.id, turn.session_id) if line else (turn.id,))
    effects = [RecordedEffect(*row) for row in rows]
    tools = orjson.loads(str(db.execute(TOOLS, (turn.id,)).get or "[]"))
    return RecordedEvidence(
        effects=effects[::-1],
        tools=[KnownTool(tool["name"], tool["description"]) for tool in tools],
        handed_back=any(tool.get("handed_back") for tool in tools),
    )
