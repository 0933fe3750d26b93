"""What can be tried again of turns: their prompt, their steps, and which turns are like one."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from orchestrator.control.camel_model import CamelModel
from orchestrator.control.trials import TriedTurn
from orchestrator.journal.db.database import Database
from orchestrator.journal.inspect.turn_search import FoundTurn, list_turns_by_id
from orchestrator.journal.turns import prompt_records
from thinker.protocol.prompt_record import PromptRecord

MAX_TURNS = 50  # of a trial that is asked for on the page
MAX_SEARCHED = 2000  # newest turns of an agent
MAX_MODELS = 50
NO_PROMPT = PromptRecord(layers=())
# A skill is used by what its file says in the prompt, or by the tool that reads it.
_USES_SKILL = (
    "(instr((SELECT string_agg(body, '') FROM turn_prompt WHERE turn_id = turn.id),"
    " '### Playbook: ' || ?3 || '\\n') > 0 OR EXISTS(SELECT 1 FROM step WHERE turn_id = turn.id"
    " AND name = 'read_skill' AND instr(args, '\"name\":\"' || ?3 || '\"') > 0))"
)
_LAST = (
    "SELECT id, agent_id FROM turn WHERE id IN(SELECT id FROM turn WHERE ?1 IN('', agent_id)"
    f" ORDER BY id DESC LIMIT {MAX_SEARCHED}) AND ended_at IS NOT NULL"
    " AND EXISTS(SELECT 1 FROM turn_prompt WHERE turn_id = turn.id)"
    f" AND (?3 = '' OR {_USES_SKILL}) ORDER BY id DESC LIMIT ?2"
)
_RESULT = (
    "SELECT trial_id, result FROM trial_turn JOIN trial ON trial.id = trial_id"
    " WHERE turn_id = ? AND trial_turn.state = 'done' AND kind = 'test'"
    " ORDER BY trial_id DESC LIMIT 1"
)


class TriableTurn(NamedTuple):
    """A turn to try; ``models`` are those of its model responses, in order."""

    turn: FoundTurn
    prompt: PromptRecord
    models: Sequence[str]


class NewestResult(NamedTuple):
    """How a saved turn did in the newest test with it."""

    trial: int
    turn: TriedTurn


class _StoredRun(CamelModel):
    """What a row of `trial_turn` says of a run, as far as it is shown."""

    tried: TriedTurn


def find_triable_turn(db: Database, turn_id: str) -> TriableTurn | None:
    """Return a turn as it can be tried; None if it does not exist."""
    found = list_turns_by_id(db, [turn_id])
    if not found:
        return None
    prompts = prompt_records.list_prompts_of_turn(db, turn_id)
    steps = "SELECT name FROM step WHERE turn_id = ? AND kind = 'model' ORDER BY seq"
    models = [str(name) for (name,) in db.execute(steps, (turn_id,))]
    return TriableTurn(found[0], prompts[0][1] if prompts else NO_PROMPT, models)


def list_last_turns(db: Database, agent_id: str, count: int, skill: str = "") -> list[str]:
    """Return the newest turns of an agent that have a prompt, or those that used a skill."""
    values = agent_id, min(count, MAX_TURNS), skill
    return [str(turn) for turn, _ in db.execute(_LAST, values)]


def find_last_agent(db: Database, skill: str = "") -> str:
    """Return the agent of the newest turn that has a prompt, or that used a skill."""
    return next((str(agent) for _, agent in db.execute(_LAST, ("", 1, skill))), "")


def list_known_models(db: Database) -> list[str]:
    """Return the models that were asked lately."""
    sql = (
        "SELECT model FROM (SELECT model FROM model_call ORDER BY id DESC LIMIT 5000) AS asked"
        f" GROUP BY model ORDER BY count(*) DESC LIMIT {MAX_MODELS}"
    )
    return [str(model) for (model,) in db.execute(sql)]


def list_questions(db: Database, turns: Sequence[str]) -> Mapping[str, FoundTurn]:
    """Return turns by their ids."""
    return {turn.id: turn for turn in list_turns_by_id(db, list(turns))}


def load_test_results(db: Database, turns: Sequence[str]) -> Mapping[str, NewestResult]:
    """Return the newest results of saved turns, by their ids."""
    found = ((turn, db.execute(_RESULT, (turn,)).fetchone()) for turn in turns)
    return {
        turn: NewestResult(int(row[0]), _StoredRun.model_validate_json(row[1]).tried)
        for turn, row in found
        if row is not None and row[1]
    }
