"""What an operator decides in the journal: a chat is refused, a budget extended for today."""

from orchestrator.errors import OrchestratorError
from orchestrator.journal.access.pairing import REFUSED_FOR
from orchestrator.journal.db import audit
from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import held_messages, pauses
from orchestrator.journal.turns.budget_extensions import KEY, find_extension
from orchestrator.spending import budgets
from orchestrator.spending.spending_rules import SpendingRules
from orchestrator.timezones import load_zone_or_utc
from thinker.protocol.names import ChatName

MAX_EXTENSION = 1000.0  # dollars a day and agent; a slip of the keyboard must not ruin its owner
NO_DOLLARS = "agent {agent!r} has no limit in dollars that could be raised; see: budget"
TOO_MUCH = "that is more than ${most:g} today for {agent}; raise its limit in agents.json instead"


def refuse_chat(db: Database, code: str, by: str, now: int) -> bool:
    """Refuse the chat with this code, which is not told, and may ask again after a day.

    Its messages stay unanswered, and their text is removed. False if no chat has the code.
    """
    row = db.execute(
        "UPDATE pairing SET state = 'revoked', code = NULL, decided_at = ?, expires_at = ?"
        " WHERE code = ? AND state = 'pending' RETURNING channel, chat_id",
        (now, now + REFUSED_FOR, code.upper()),
    ).fetchone()
    if row is None:
        return False
    chat = ChatName(str(row[0]), str(row[1]))
    held_messages.delete_held_texts(db, chat.channel, chat.chat_id)
    audit.record_decision(db, by, "pairing refused", str(chat), now)
    return True


def readmit_chat(db: Database, chat: ChatName, by: str, now: int) -> bool:
    """Let a refused or revoked chat write again, in the role to talk; False if no such chat is."""
    db.execute(
        "UPDATE pairing SET state = 'approved', role = 'talk', decided_at = ?"
        " WHERE channel = ? AND chat_id = ? AND state = 'revoked'",
        (now, chat.channel, chat.chat_id),
    )
    if not db.changes():
        return False
    audit.record_decision(db, by, "pairing restored", str(chat), now)
    return True


def extend_budget(
    db: Database, rules: SpendingRules, agent_id: str, usd: float, by: str
) -> str | None:
    """Raise each limit of an agent in dollars until midnight; return why it stays paused.

    Raises:
        OrchestratorError: the agent has no limit in dollars, or got `MAX_EXTENSION` today.
    """
    found = rules.agents.find_agent(agent_id)
    if found is None or found.budget is None or not found.budget.is_in_dollars:
        raise OrchestratorError(NO_DOLLARS.format(agent=agent_id))
    now, zone = rules.clock(), load_zone_or_utc(found.timezone, rules.environ)
    day = budgets.find_midnight_before(0, now, zone)
    total = round(find_extension(db, agent_id, day) + usd, 6)
    if total > MAX_EXTENSION:
        raise OrchestratorError(TOO_MUCH.format(agent=agent_id, most=MAX_EXTENSION))
    db.execute(
        "INSERT INTO meta VALUES(?,?) ON CONFLICT(k) DO UPDATE SET v = excluded.v",
        (KEY.format(agent_id), f"{day} {total}"),
    )
    audit.record_decision(db, by, f"may spend ${total:g} more today", f"agent {agent_id}", now)
    pause = pauses.find_pause(db, agent_id)
    if pause is None or pause.kind != "budget":
        return None if pause is None else pause.reason
    return rules.resume_agent(db, agent_id, by)
