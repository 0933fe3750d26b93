"""Read what a recorded turn would be told today of its agent's memory; nothing is written."""

from orchestrator.agentsfile import AgentsFile
from orchestrator.extensions.workbench.recorded_parts import RecordedPart
from orchestrator.extensions.workbench.recorded_turns import RecordedTurn
from orchestrator.journal.db.database import Database
from orchestrator.journal.memory import fact_cards
from orchestrator.journal.memory.prompt_memory import PromptMemory, load_prompt_memory
from orchestrator.turn_access import build_memory_scope


def load_todays_memory(
    db: Database, agents: AgentsFile, turn: RecordedTurn, part: RecordedPart
) -> PromptMemory:
    """Return facts, profile, playbooks and skills as of the turn's time, as far as they are kept.

    What reading them may prepare for later turns is undone.
    """
    definition = agents.find_agent(part.agent_id)
    globs = ("*",) if definition is None else definition.skills
    small = definition is not None and definition.profile is not None
    size = fact_cards.SMALL_CARD_TOKENS if small else fact_cards.CARD_TOKENS
    scope = build_memory_scope(agents, db, turn.agent_id, turn.scope)
    session, until = turn.session_id, turn.started_at
    db.execute("SAVEPOINT undone")
    try:
        return load_prompt_memory(db, scope, turn.question, globs, until, None, session, size)
    finally:
        db.execute("ROLLBACK TO undone")
        db.execute("RELEASE undone")
