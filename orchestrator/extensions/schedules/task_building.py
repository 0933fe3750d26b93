"""Build a task from the fields of a SKILL.md or of a tool call."""

from collections.abc import Sequence
from datetime import UTC, datetime

from pydantic import JsonValue, ValidationError

from orchestrator.schedules.specs import Notify, TaskSpec, ToolStep
from orchestrator.schedules.task_fields import MISFIRE, TRIGGERS
from orchestrator.schedules.times import Once, ScheduleError, find_first_due, is_fast
from thinker.formats.word_lists import parse_words
from thinker.protocol.messages import JsonObject


def build_task_spec(
    fields: JsonObject, timezone: str, notify: Notify | None, now: int, *, fast: bool = False
) -> TaskSpec:
    """Build a task from normalized fields; ``timezone`` and ``notify`` are defaults.

    Only a ``fast`` task may be due more than once a minute.

    Raises:
        ScheduleError: a field is missing or invalid, or the schedule is never due.
    """
    config = fields.get("trigger_config")
    config = config if isinstance(config, dict) else {}
    flat = {**config, **fields}
    steps = _parse_steps(fields.get("execution_plan"))
    try:
        spec = TaskSpec.model_validate(
            {
                "name": fields.get("name"),
                "instructions": fields.get("instructions"),
                "trigger": {key: config[key] for key in sorted(TRIGGERS & config.keys())},
                "timezone": config.get("timezone") or timezone,
                "notify": _parse_notify(flat) or notify,
                "required_tools": _list_required_tools(flat, steps),
                "max_steps": fields.get("max_steps"),
                "effort": fields.get("effort"),
                "direct": steps[0] if len(steps) == 1 else None,
                "check": _parse_check(config.get("check"), steps),
                **{key: flat[key] for key in MISFIRE if flat.get(key) is not None},
            }
        )
    except ValidationError as error:
        detail = error.errors()[0]
        place = ".".join(str(part) for part in detail["loc"])
        raise ScheduleError(f"{place}: {detail['msg']}; correct it or leave it out") from error
    if is_fast(spec.parsed_trigger) and not fast:
        raise ScheduleError("a task is due once a minute at most; write one second from 0 to 59")
    if find_first_due(spec.parsed_trigger, spec.zone, now) is None:
        raise ScheduleError("the schedule is never due; choose a later year")
    return spec


def postpone_task(spec: TaskSpec, earliest: int) -> TaskSpec:
    """Return the task; a one-shot one is due at ``earliest`` (milliseconds) or later."""
    trigger = spec.parsed_trigger
    if not isinstance(trigger, Once) or trigger.at >= earliest:
        return spec
    at = datetime.fromtimestamp(earliest / 1000, UTC).isoformat(timespec="milliseconds")
    return spec.model_copy(update={"trigger": {"at": at}})


def _parse_steps(plan: JsonValue) -> Sequence[ToolStep]:
    if not isinstance(plan, list):
        return ()
    try:
        return [ToolStep.model_validate(step) for step in plan]
    except ValidationError as error:
        raise ScheduleError(
            "execution_plan: each step needs a toolName and, if it has any, parameters"
        ) from error


def _parse_check(check: JsonValue, plan: Sequence[ToolStep]) -> ToolStep | None:
    if check is None:
        return None
    try:
        found = ToolStep.model_validate(check)
    except ValidationError as error:
        raise ScheduleError(
            "check: needs a toolName and, if the tool has any, parameters"
        ) from error
    if len(plan) == 1:
        raise ScheduleError("check: a plan of one step asks no model anyway; remove one of them")
    return found


def _list_required_tools(fields: JsonObject, steps: Sequence[ToolStep]) -> JsonValue:
    """Return the names of the required tools, including those of a plan with several steps."""
    if fields.get("no_tools") is True:
        return []
    required = fields.get("required_tools")
    names = parse_words(required)
    if len(steps) > 1:
        names += [step.tool for step in steps]
    return list(dict.fromkeys(names)) or None


def _parse_notify(fields: JsonObject) -> JsonValue:
    chat = fields.get("notify_chat_id")
    if chat is None:
        return None
    return {"channel": fields.get("notify_channel") or "telegram", "chat_id": str(chat)}
