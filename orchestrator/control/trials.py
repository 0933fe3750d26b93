"""Requests to try recorded turns again, without effects, with something changed.

What a trial makes reaches no chat, no session and no memory: it is kept in the tables of trials.
"""

from typing import Literal, TypeAlias

from pydantic import Field

from orchestrator.control.camel_model import CamelModel
from thinker.protocol.messages import Effort, JsonObject

TRIAL_ESTIMATE = "trial/estimate"  # TrialRequest → TrialEstimate, which changes nothing
TRIAL_START = "trial/start"  # TrialRequest → TrialReport, of a trial that has just begun
TRIAL_SHOW = "trial/show"  # TrialNumber → TrialReport
TRIAL_LIST = "trial/list"  # → TrialReports, newest first, without their turns
TRIAL_STOP = "trial/stop"  # TrialNumber → TrialReport
TRIAL_GO_ON = "trial/goOn"  # TrialContinuation → TrialReport
SETS_LIST = "sets/list"  # → SavedSets
SETS_ADD = "sets/add"  # SavedTurn → SavedTurn
SETS_REMOVE = "sets/remove"  # SavedTurn → SavedTurn

MAX_TURNS = 1000  # of one trial
MAX_TIMES = 5

TrialKind: TypeAlias = Literal["replay", "test", "switch"]
TrialState: TypeAlias = Literal["running", "done", "stopped"]
# In the order in which a run can be told from its record less and less.
Fidelity: TypeAlias = Literal["exact", "same", "invented", "stopped", "impossible"]
FIDELITIES: tuple[Fidelity, ...] = ("exact", "same", "invented", "stopped", "impossible")
# What answers a call that the record does not: nothing, a person, or a model.
Unrecorded: TypeAlias = Literal["stop", "ask", "invent"]
# Where the result of a call in a trial comes from.
ResultSource: TypeAlias = Literal[
    "recorded", "stale", "typed", "invented", "file", "rejected", "denied", "none"
]


class TrialChange(CamelModel):
    """What a trial changes of the recorded turns; nothing by default.

    ``model`` is `provider/model`. ``files`` are new texts by the names that editors use, such as
    ``skills/daily-plan/SKILL.md``; ``layers`` are new texts of the prompt's layers. ``as_today``
    makes the whole prompt anew, ``from_step`` keeps so many recorded responses.
    """

    model: str | None = None
    temperature: float | None = Field(None, ge=0, le=2)
    effort: Effort | None = None
    files: dict[str, str] = Field(default_factory=dict, max_length=20)
    layers: dict[str, str] = Field(default_factory=dict, max_length=20)
    add_tools: tuple[str, ...] = Field((), max_length=100)
    remove_tools: tuple[str, ...] = Field((), max_length=100)
    as_today: bool = False
    from_step: int = Field(0, ge=0)

    @property
    def changes_anything(self) -> bool:
        """Whether the turns are tried with something changed, so that their requests differ."""
        return bool(self.model_dump(exclude_defaults=True, exclude={"from_step"}))


class TrialRequest(CamelModel):
    """Turns to try, by their ids or unambiguous endings, each so many ``times``.

    A trial never spends more than its limits; a model without a price needs one in tokens.
    ``confirmed`` names a provider that may see these words although its agent does not use it.
    """

    turns: tuple[str, ...] = Field(min_length=1, max_length=MAX_TURNS)
    change: TrialChange = TrialChange()
    kind: TrialKind = "replay"
    times: int = Field(1, ge=1, le=MAX_TIMES)
    unrecorded: Unrecorded = "stop"
    limit_usd: float | None = Field(None, gt=0)
    limit_tokens: int | None = Field(None, gt=0)
    confirmed: str = ""
    note: str = Field("", max_length=200)


class TrialEstimate(CamelModel):
    """What a trial may cost: dollars are None where a model has no price.

    ``left_usd`` is what the agent's budget leaves for trials, None without one. ``new_provider`` is
    a provider that none of these words went to before: ``messages`` of so many ``people``.
    ``problem`` says why the trial cannot start as it is.
    """

    turns: int
    calls: int
    tokens: int
    low_usd: float | None = None
    high_usd: float | None = None
    left_usd: float | None = None
    new_provider: str = ""
    messages: int = 0
    people: int = 0
    problem: str = ""


class TrialNumber(CamelModel):
    """The number of a trial; a ``brief`` report is without its turns."""

    id: int
    brief: bool = False


class TrialContinuation(TrialNumber):
    """A stopped trial to go on with; ``typed`` are results by `TriedCall.key` for calls."""

    typed: dict[str, str] = Field(default_factory=dict, max_length=100)


class TriedCall(CamelModel):
    """A tool call of a trial or of its record; ``key`` tells it from others of its turn."""

    name: str
    arguments: JsonObject = Field(default_factory=dict)
    key: str = ""
    effect: bool = False
    source: ResultSource = "recorded"
    result: str = ""
    failed: bool = False


class TriedStep(CamelModel):
    """One model response; ``exact`` says whether its request had the recorded bytes.

    ``exact`` is None where the record has no digest. ``differs`` names what made the difference.
    """

    model: str
    text: str = ""
    calls: tuple[TriedCall, ...] = ()
    prompt: int = 0
    completion: int = 0
    cached: int = 0
    usd: float | None = None
    ms: int = 0
    exact: bool | None = None
    differs: str = ""


class CheckVerdict(CamelModel):
    """Whether a tried turn meets one line of its checks; None if that cannot be told."""

    check: str
    met: bool | None
    text: str = ""


class TurnRecord(CamelModel):
    """What happened in a turn: its question, steps and answer."""

    question: str = ""
    steps: tuple[TriedStep, ...] = ()
    answer: str = ""
    usd: float | None = None
    ms: int = 0


class TriedTurn(CamelModel):
    """One run of a turn beside its record.

    ``reason`` says why it is not exact. ``effects`` and ``calls`` say in words what it did
    otherwise, the most important first; ``alike`` whether the calls are the same and the text
    equal or near.
    """

    turn_id: str
    nth: int = 1
    done: bool = False
    fidelity: Fidelity | None = None
    reason: str = ""
    alike: bool | None = None
    effects: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()
    tried: TurnRecord = TurnRecord()
    recorded: TurnRecord = TurnRecord()
    checks: tuple[CheckVerdict, ...] = ()


class TrialReport(CamelModel):
    """A trial; ``at`` in milliseconds since the epoch."""

    id: int
    kind: TrialKind
    agent_id: str
    state: TrialState
    change: TrialChange
    note: str = ""
    by: str = ""
    at: int
    turns: tuple[TriedTurn, ...] = ()
    waiting: int = 0
    usd: float = 0.0
    tokens: int = 0
    limit_usd: float | None = None
    limit_tokens: int | None = None


class TrialReports(CamelModel):
    """The trials of a home, newest first."""

    trials: tuple[TrialReport, ...]


class SavedTurn(CamelModel):
    """A turn kept as a test in a set, with one check a line."""

    set_name: str = Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,63}$")
    turn: str
    checks: str = Field("same calls", max_length=10_000)
    question: str = ""
    at: int = 0
    by: str = ""


class SavedSets(CamelModel):
    """All kept turns, by set."""

    turns: tuple[SavedTurn, ...]
