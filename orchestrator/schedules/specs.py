"""Scheduled tasks: their model, and how to build one from a SKILL.md or a tool call."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Literal
from zoneinfo import ZoneInfo

from pydantic import AliasChoices, Field, JsonValue, ValidationError

from orchestrator.schedules.misfires import Misfire, Policy
from orchestrator.schedules.normalize import TRIGGERS
from orchestrator.schedules.times import (
    MINUTE,
    Once,
    ScheduleError,
    Trigger,
    find_first_due,
    is_fast,
    parse_trigger,
)
from orchestrator.timezones import suggest_zone
from thinker.formats.word_lists import parse_words
from thinker.protocol.messages import Effort, Frozen, JsonObject

MAX_NAME, MAX_INSTRUCTIONS = 100, 20_000  # characters
WEEK = 10_080  # minutes; default age up to which missed instants still run
MAX_CATCH_UP = 100  # runs after one downtime
MISFIRE = ("misfire", "misfire_limit", "misfire_window_minutes")
Source = Literal["skill", "tool"]


class ToolStep(Frozen):
    """A tool call that is made without a model."""

    tool: str = Field(validation_alias=AliasChoices("toolName", "tool"), min_length=1)
    parameters: JsonObject = Field(default_factory=dict)


class Notify(Frozen):
    """The chat that receives the outcome."""

    channel: str = Field(min_length=1)
    chat_id: str = Field(min_length=1)


class TaskSpec(Frozen):
    """One task, as the journal stores it.

    ``required_tools`` are offered to the model; None selects tools as for a message, an empty
    tuple offers none. Without ``notify`` the outcome stays in the journal. The model is asked only
    if the result of ``check`` has news.
    """

    name: str = Field(min_length=1, max_length=MAX_NAME)
    instructions: str = Field(min_length=1, max_length=MAX_INSTRUCTIONS)
    trigger: JsonObject
    timezone: str
    notify: Notify | None = None
    required_tools: tuple[str, ...] | None = None
    max_steps: int | None = Field(None, ge=1, le=50)
    effort: Effort | None = None
    direct: ToolStep | None = None
    check: ToolStep | None = None
    misfire: Policy = "latest"
    misfire_limit: int = Field(10, ge=1, le=MAX_CATCH_UP)
    misfire_window_minutes: int = Field(WEEK, ge=1)

    @property
    def zone(self) -> ZoneInfo:
        """The time zone of the schedule.

        Raises:
            ScheduleError: this machine does not know the zone.
        """
        try:
            return ZoneInfo(self.timezone)
        except (KeyError, ValueError, OSError):
            known = suggest_zone(self.timezone)
            raise ScheduleError(
                f"unknown time zone {self.timezone!r}; use one such as {known}"
            ) from None

    @property
    def parsed_trigger(self) -> Trigger:
        """The trigger.

        Raises:
            ScheduleError: the trigger is invalid.
        """
        return parse_trigger(self.trigger, self.zone)

    @property
    def misfire_rule(self) -> Misfire:
        return Misfire(self.misfire, self.misfire_limit, self.misfire_window_minutes * MINUTE)


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
