"""Scheduled tasks: their model, and how to build one from a SKILL.md or a tool call."""

from typing import Literal, NamedTuple, TypeAlias
from zoneinfo import ZoneInfo

from pydantic import AliasChoices, Field

from orchestrator.schedules.times import (
    MINUTE,
    ScheduleError,
    Trigger,
    parse_trigger,
)
from orchestrator.timezones import suggest_zone
from thinker.protocol.messages import Effort, Frozen, JsonObject

MAX_NAME, MAX_INSTRUCTIONS = 100, 20_000  # characters
WEEK = 10_080  # minutes; default age up to which missed instants still run
MAX_CATCH_UP = 100  # runs after one downtime
Source = Literal["skill", "tool"]
Policy: TypeAlias = Literal["skip", "latest", "all"]


class Misfire(NamedTuple):
    """How to treat missed instants: run none, the newest, or the newest ``limit``.

    Instants older than ``window`` milliseconds never run.
    """

    policy: Policy
    limit: int
    window: int


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
