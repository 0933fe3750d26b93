"""New ids for an agent's rows where the target has used theirs, in every value that names one.

All ids of a table move by the same distance, so their order stays, and the way back is known.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

import orjson

Shifts: TypeAlias = Mapping[str, int]  # by table; a table without one keeps its ids
Row: TypeAlias = list[Any]

TASK_NAME = re.compile(r"((?:.*/)?task/[^/]+/|(?:.*[/:])?task-)(\d+)(/?)")
RUN_NAME = re.compile(r"()(\d+)(@\d+)")
FACT_NAME = re.compile(r"(fact )(\d+)()")
# The table whose ids a number is one of, by the column; 0 stands for no row.
NUMBERED: dict[str, dict[str, str]] = {
    "attachment": {"inbox_id": "inbox"},
    "request": {"inbox_id": "inbox"},
    "session": {
        "parent_id": "session",
        "summary_upto": "message",
        "facts_upto": "message",
        "parent_upto": "message",
    },
    "message": {"session_id": "session"},
    "turn": {"session_id": "session"},
    "turn_prompt": {"history_first": "message", "history_last": "message"},
    "trial_turn": {"trial_id": "trial"},
    "approval": {"asked_with": "approval"},
    "subagent_run": {"inbox_id": "inbox"},
    "outbox": {"approval_id": "approval"},
    "pause": {"mark": "model_call"},
    "pause_told": {"pause_id": "pause"},
    "fact": {"said_in": "message"},
    "fact_vector": {"fact_id": "fact"},
    "message_vector": {"message_id": "message"},
    "task_run": {"task_id": "task", "inbox_id": "inbox"},
}
WITH_ID = (
    "inbox",
    "session",
    "message",
    "trial",
    "approval",
    "standing_approval",
    "outbox",
    "model_call",
    "pause",
    "fact",
    "profile_change",
    "playbook",
    "task",
    "transition",
)
# Columns with the name of a task's queue, chat or run, which has the task's id in it.
NAMED = {"chat_key": TASK_NAME, "chat_id": TASK_NAME, "scope": TASK_NAME}


def reverse_shifts(shifts: Shifts) -> dict[str, int]:
    """Return the shifts that lead back."""
    return {table: -by for table, by in shifts.items()}


def build_shift(table: str, names: Sequence[str], shifts: Shifts) -> Callable[[Row], Row]:
    """Return a function that gives a row of a table its new ids, in place."""
    changes: list[tuple[int, Callable[[Any], Any]]] = []
    for place, name in enumerate(names):
        of_table = table if name == "id" and table in WITH_ID else NUMBERED.get(table, {}).get(name)
        change: Callable[[Any], Any] | None = None
        if of_table is not None:
            change = partial(_shift_number, shifts.get(of_table, 0))
        elif name in NAMED and shifts.get("task"):
            change = partial(_shift_name, NAMED[name], shifts["task"])
        elif (table, name) == ("fact", "ended_by"):
            change = partial(_shift_name, FACT_NAME, shifts.get("fact", 0))
        elif (table, name) == ("memory_card", "facts"):
            change = partial(_shift_list, shifts.get("fact", 0))
        if change is not None:
            changes.append((place, change))
    of_row = {"inbox": _shift_run_name, "transition": _shift_subject}.get(table)

    def shift(row: Row) -> Row:
        for place, change in changes:
            row[place] = change(row[place])
        return row if of_row is None else of_row(row, names, shifts)

    return shift


def _shift_number(by: int, value: int | None) -> int | None:
    return value + by if value else value


def _shift_name(pattern: re.Pattern[str], by: int, value: str | None) -> str | None:
    found = pattern.fullmatch(value or "")
    return value if found is None else f"{found[1]}{int(found[2]) + by}{found[3]}"


def _shift_list(by: int, value: str) -> str:
    return orjson.dumps([number + by for number in orjson.loads(value)]).decode() if by else value


def _shift_run_name(row: Row, names: Sequence[str], shifts: Shifts) -> Row:
    """Give the message of a task's run the name that it has as a run of the new id."""
    if row[names.index("kind")] == "task":
        place = names.index("message_id")
        row[place] = _shift_name(RUN_NAME, shifts.get("task", 0), row[place])
    return row


def _shift_subject(row: Row, names: Sequence[str], shifts: Shifts) -> Row:
    """Give a transition of a message the message's new id."""
    kind, place = row[names.index("kind")], names.index("number")
    row[place] += shifts.get(kind, 0)  # steps and turns have none
    return row
