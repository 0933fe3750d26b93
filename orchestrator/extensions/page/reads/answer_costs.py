"""What answers cost, and the tools that they were offered."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

import orjson

from orchestrator.journal.db.database import Database
from orchestrator.journal.inspect.chat_files import NAMED
from orchestrator.journal.inspect.chat_history import OpenQuestion
from orchestrator.journal.turns.receipts import AnswerReceipt, load_receipts
from thinker.protocol.messages import ToolSpec

# Definitions of tools by turn and name.
OfferedTools: TypeAlias = Mapping[tuple[str, str], ToolSpec]


class AnswerCost(NamedTuple):
    """The model calls of a turn; ``usd`` is None if one of them has no known price.

    ``receipt`` is that of the answer, if it claims to have done something.
    """

    model: str
    tokens: int
    usd: float | None
    receipt: AnswerReceipt | None = None


def load_answer_costs(db: Database, turn_ids: Sequence[str]) -> dict[str, AnswerCost]:
    """Return the cost of each turn that asked a model, with the model that was asked last."""
    found: dict[str, AnswerCost] = {}
    for turn_id, model, tokens, usd in db.execute(
        "SELECT turn_id, model, prompt + completion, usd FROM model_call"
        f" WHERE turn_id {NAMED} AND state = 'settled' ORDER BY id",
        (orjson.dumps(turn_ids).decode(),),
    ):
        before = found.get(turn_id, AnswerCost("", 0, 0.0))
        known = None if usd is None or before.usd is None else before.usd + usd
        found[turn_id] = AnswerCost(str(model), before.tokens + int(tokens), known)
    for turn_id, receipt in load_receipts(db, list(found)).items():
        found[turn_id] = found[turn_id]._replace(receipt=receipt)
    return found


def find_called_tools(db: Database, questions: Iterable[OpenQuestion]) -> OfferedTools:
    """Return the definitions of the tools of open questions, as they were offered."""
    calls = {(call.turn_id, call.tool) for asked in questions for call in asked.calls}
    if not calls:
        return {}
    turn_ids = sorted({turn_id for turn_id, _ in calls})
    found: dict[tuple[str, str], ToolSpec] = {}
    for turn_id, body in db.execute(
        "SELECT turn_id, prompt_part.body FROM turn_prompt"
        " JOIN prompt_part ON prompt_part.digest = turn_prompt.tools"
        f" WHERE turn_id {NAMED} ORDER BY at",
        (orjson.dumps(turn_ids).decode(),),
    ):
        for tool in orjson.loads(body):
            if (turn_id, tool.get("name")) in calls:
                found[turn_id, str(tool["name"])] = ToolSpec.model_validate(tool)
    return found
