"""A person's conversations of some weeks, for searches."""

from collections.abc import Sequence

from fakes.journal import job

from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import sessions
from thinker.protocol.messages import AssistantMessage, Message, UserMessage

DAY = 24 * 60 * 60 * 1000
FIRST = 1_777_766_400_000  # 3 May 2026
SAID = (
    "The dentist moved my appointment to Thursday the 14th of May at nine.",
    "Grandmother baked walnut bread with rosemary for the village festival.",
    "Our landlord finally repaired the leaking skylight above the staircase.",
    "Which mountain hut did Jonas recommend for the Karwendel crossing?",
    "Yesterday the violin teacher praised how Lena plays the Bach partita.",
    "My passport number ends in 4711 and it expires in November 2029.",
    "Please remind me that the ferry to Naxos leaves from gate seven.",
    "The bicycle needs new brake pads before the Danube tour begins.",
    "We named the rescued hedgehog Archibald and feed him mealworms.",
    "Ich habe gestern endlich den kaputten Heizkessel im Keller reparieren lassen.",
    "Did the insurance company answer about the flooded basement in Ottensen?",
    "Marco sold the old sailing boat and bought a workshop in Trieste.",
)


def store_conversations(
    db: Database, scope: str, texts: Sequence[str] = SAID, agent_id: str = "work"
) -> list[int]:
    """Store a message of a person each day, with a short answer; return the person's ids."""
    ids = []
    with job(db):
        session = sessions.open_session(db, agent_id, f"{scope}/", FIRST, scope)
        for number, text in enumerate(texts):
            said: list[Message] = [UserMessage(content=text), AssistantMessage(content="Noted.")]
            at = FIRST + number * DAY
            sessions.append_messages(db, session, f"{scope} {number}", said, at)
            ids.append(int(db.execute("SELECT max(id) FROM message").get) - 1)
    return ids
