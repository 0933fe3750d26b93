"""Read the parts of a recorded turn: what each of its processes was given for its requests."""

from collections.abc import Sequence
from dataclasses import replace

from pydantic import Field

from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import attachments, prompt_records
from orchestrator.journal.turns.prompt_records import PromptSources
from orchestrator.journal.turns.sessions import SentConversation, TurnTranscript
from orchestrator.journal.turns.turns import StoredTurn, Turn
from orchestrator.turns import turn_inputs
from orchestrator.turns.turn_runner import find_recipe
from thinker.protocol.messages import (
    MESSAGE,
    AssistantMessage,
    Frozen,
    JsonObject,
    Message,
    ToolSpec,
    UserMessage,
)
from thinker.protocol.methods import RecordedStep
from thinker.protocol.prompt_record import PromptRecord

PICTURES = 10  # newest messages with pictures, unless the settings say otherwise
# The messages ?1 to ?2 of a conversation: of a session and of those that it goes on from.
WINDOW = """WITH RECURSIVE line(id, upto, depth) AS (
  SELECT session_id, ?2, 0 FROM message WHERE id = ?2
  UNION ALL SELECT parent_id, min(upto, parent_upto), depth + 1 FROM line
    JOIN session ON session.id = line.id WHERE parent_id IS NOT NULL AND depth < 8)
SELECT message.id, body FROM line JOIN message ON session_id = line.id
WHERE message.id BETWEEN ?1 AND ?2 AND message.id <= upto ORDER BY message.id"""


class RecordedPart(Frozen):
    """What a process was given for its requests of a turn.

    ``settings`` are the worker's, with ``provenance`` and what the kind of ``turn`` decides; empty
    in records of older versions. ``record`` is its prompt, ``agent_id`` that of agents.json, and
    ``steps`` are all of the turn.
    """

    at: int
    agent_id: str
    record: PromptRecord
    settings: JsonObject = Field(default_factory=dict)
    definition: JsonObject | None = None
    tools: tuple[ToolSpec, ...] = ()
    history: tuple[Message, ...] = ()
    messages: tuple[UserMessage, ...] = ()
    steps: tuple[RecordedStep, ...] = ()
    lacks_messages: bool = False
    lacks_pictures: bool = False

    @property
    def runs_hooks(self) -> bool:
        """Whether hooks could change the requests."""
        named = [self.settings, *self._list_definitions()]
        return bool(self.settings.get("allow_hooks")) and any(one.get("hooks") for one in named)

    def _list_definitions(self) -> list[JsonObject]:
        found = (self.definition or {}).get("definitions")
        known = found.values() if isinstance(found, dict) else ()
        return [one for one in known if isinstance(one, dict)]


def list_parts(db: Database, turn: Turn, known: TurnTranscript) -> list[RecordedPart]:
    """Return the parts of a turn, in order."""
    planned = db.execute(
        "SELECT t_plan FROM step WHERE turn_id = ? AND kind = 'model' ORDER BY seq", (turn.id,)
    )
    times = [int(at) for (at,) in planned]
    return [
        _load_part(db, turn, known, at, record, sum(time < at for time in times))
        for at, record in prompt_records.list_prompts_of_turn(db, turn.id)
    ]


def _load_part(
    db: Database, turn: Turn, known: TurnTranscript, at: int, record: PromptRecord, first: int
) -> RecordedPart:
    """Load a part; ``first`` is the number of steps before its process began."""
    sources = prompt_records.load_prompt_sources(db, turn.id, at)
    own = find_recipe(turn.recipe).load_conversation(db, turn)
    window = prompt_records.find_history_window(db, turn.id, at)
    history = _load_window(db, window)
    said = tuple(row.build_user_message(db) for row in known.opening_rows)
    stored = StoredTurn(
        turn=turn,
        messages=known.opening_rows,
        said=said,
        history=history,
        summary=None,
        summary_origin="user",
        steps=known.steps,
        recent_tools=(),
    )
    shown = _fill_pictures(db, stored, sources, first)
    found = SentConversation(shown.history, shown.said) if own is None else own
    return RecordedPart(
        at=at,
        agent_id=sources.agent_id or turn.agent_id,
        record=record,
        settings=sources.settings or {},
        definition=sources.definition,
        tools=sources.tools or (),
        history=found.history,
        messages=found.messages,
        steps=shown.steps,
        lacks_messages=own is None and _lacks_ends(db, window),
        lacks_pictures=_lacks_pictures(db, stored.list_messages()),
    )


def _load_window(db: Database, window: tuple[int, int] | None) -> tuple[Message, ...]:
    if window is None:
        return ()
    return tuple(MESSAGE.validate_json(body) for _, body in db.execute(WINDOW, window))


def _lacks_ends(db: Database, window: tuple[int, int] | None) -> bool:
    """Return whether the first or the last message of a history is gone."""
    if window is None:
        return False
    sql = "SELECT count(*) FROM message WHERE id IN(?, ?)"
    return int(db.execute(sql, window).get) < len({*window})


def _fill_pictures(
    db: Database, stored: StoredTurn, sources: PromptSources, first: int
) -> StoredTurn:
    """Add the pictures that a process got when it began, and those that came later."""
    settings = sources.settings or {}
    cached = settings.get("prompt_layout") == "cached"
    recent = int(str(settings.get("recent_image_threshold", PICTURES))) * (2 if cached else 1)
    stored = stored if cached else turn_inputs.mark_other_senders(stored)
    begun = turn_inputs.add_pictures(db, replace(stored, steps=stored.steps[:first]), recent)
    later = tuple(_fill_step(db, step) for step in stored.steps[first:])
    return replace(begun, steps=(*begun.steps, *later))


def _fill_step(db: Database, step: RecordedStep) -> RecordedStep:
    """Add the pictures of the results and messages of one step."""
    pictured = [
        one
        for one in (*step.entered, *(call.result for call in step.calls))
        if one is not None and one.images
    ]
    if not pictured:
        return step
    data = attachments.load_visible_pictures(db, pictured, len(pictured))
    filled = step.replace_results(lambda result: attachments.fill_pictures(result, data))
    entered = tuple(attachments.fill_pictures(said, data) for said in step.entered)
    return filled.model_copy(update={"entered": entered})


def _lacks_pictures(db: Database, messages: Sequence[Message]) -> bool:
    """Return whether a picture of the messages has been deleted."""
    refs = {
        image.ref
        for message in messages
        if not isinstance(message, AssistantMessage)
        for image in message.images
        if image.ref
    }
    sql = "SELECT EXISTS(SELECT 1 FROM media WHERE id = ?)"
    return any(not db.execute(sql, (ref,)).get for ref in refs)
