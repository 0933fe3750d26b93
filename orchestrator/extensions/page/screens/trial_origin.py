"""What a trial begins with, a turn, an edited text or a set, and what its form has to offer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from orchestrator.control import protocol, trials
from orchestrator.control.protocol import StatusReport
from orchestrator.control.trials import SavedSets
from orchestrator.extensions.page import edit_calls
from orchestrator.extensions.page.edit_forms.trial_fields import (
    FILE,
    LAST,
    OF_SET,
    OF_SKILL,
    THIS,
    TrialFields,
)
from orchestrator.extensions.page.reads import triable_turns
from orchestrator.extensions.page.reads.triable_turns import NO_PROMPT, TriableTurn
from orchestrator.extensions.page.screen_request import ScreenRequest
from orchestrator.extensions.page.screens.known_agents import (
    NOT_KNOWN,
    KnownAgents,
    find_agent_report,
)
from thinker.protocol.prompt_record import PromptRecord

SKILL_END = "/SKILL.md"
# How the names of texts begin of which prompts are made.
PROMPT_TEXTS = ("skills/", "prompts/", "personas/", "agents.json")


@dataclass(frozen=True)
class TrialOrigin:
    """What a trial begins with, and what there is to choose from.

    ``turn`` is None for the trial of a ``file`` or of a set. ``texts`` are the names of those that
    can be edited for the trial.
    """

    turn: TriableTurn | None
    agent: str
    file: str = ""
    agents: KnownAgents = NOT_KNOWN
    models: Sequence[str] = ()
    sets: Sequence[str] = ()
    texts: Sequence[str] = ()

    @property
    def prompt(self) -> PromptRecord:
        return NO_PROMPT if self.turn is None else self.turn.prompt

    @property
    def first_choice(self) -> str:
        """Which turns are meant at first."""
        if self.turn is not None:
            return THIS
        skill = find_skill_name(self.file)
        return f"{OF_SKILL}{skill}" if skill else LAST


def can_try_text(name: str) -> bool:
    """Return whether a text goes into prompts, so that turns can be tried with another one."""
    return name.startswith(PROMPT_TEXTS)


def find_skill_name(name: str) -> str:
    """Return the name of the skill that a text is; empty for other texts."""
    return name.removesuffix(SKILL_END).rpartition("/")[2] if name.endswith(SKILL_END) else ""


async def load_origin(request: ScreenRequest) -> TrialOrigin | None:
    """Return what the address of a form names; None for an unknown turn."""
    turn_id, file = request.path.get("turn"), request.query.get("file", "")
    turn = None
    if turn_id is not None:
        turn = await request.journal(triable_turns.find_triable_turn, turn_id)
        if turn is None:
            return None
    daemon = edit_calls.require_daemon(request)
    report = await daemon.ask_daemon(protocol.STATUS, None, StatusReport)
    saved = await edit_calls.ask_extension(request, trials.SETS_LIST, None, SavedSets)
    texts = await edit_calls.list_texts(request)
    asked = await request.journal(triable_turns.list_known_models)
    agents = KnownAgents(
        tuple(one.agent_id for one in report.agents), whole=not report.agents_left_out
    )
    agent = turn.turn.agent_id if turn else request.form.get("agent") or request.query.get("agent")
    if not (agent and (agent in agents.names or await find_agent_report(request, agent))):
        found = await request.journal(triable_turns.find_last_agent, find_skill_name(file))
        agent = _find_persona(file) or found or next(iter(agents.names), "")
    used = [f"{one.provider}/{one.model}" for one in report.agents if one.model]
    return TrialOrigin(
        turn,
        agent,
        file,
        agents,
        list(dict.fromkeys((*used, *asked))),
        sorted({one.set_name for one in saved.turns}),
        [one.name for one in texts.files if can_try_text(one.name)],
    )


async def complete_fields(request: ScreenRequest, origin: TrialOrigin) -> Mapping[str, str]:
    """Return the posted fields, with the text of an editor or that of a text to open."""
    posted = dict(request.form)
    if origin.file and "text" in posted:
        posted[f"{FILE}{origin.file}"] = posted["text"]
        posted |= _read_agent_values(posted)
    name = posted.get("open", "")
    if posted.get("do") == "open" and name in origin.texts and f"{FILE}{name}" not in posted:
        posted[f"{FILE}{name}"] = (await edit_calls.read_text(request, name)).text
    return posted


def _read_agent_values(posted: Mapping[str, str]) -> dict[str, str]:
    """Return the values that a form of an agent has for the fields of a trial."""
    provider, model = posted.get("field.llmProvider"), posted.get("field.model")
    found = {"model": f"{provider}/{model}"} if provider and model else {}
    values = {name: posted.get(f"field.{name}", "") for name in ("temperature", "effort")}
    return found | {name: value for name, value in values.items() if value}


async def choose_turns(
    request: ScreenRequest, origin: TrialOrigin, fields: TrialFields
) -> Sequence[str]:
    """Return the turns that a form means."""
    if fields.on == THIS and origin.turn is not None:
        return [origin.turn.turn.id]
    if fields.on.startswith(OF_SET):
        saved = await edit_calls.ask_extension(request, trials.SETS_LIST, None, SavedSets)
        wanted = fields.on.removeprefix(OF_SET)
        return [one.turn for one in saved.turns if one.set_name == wanted]
    skill = fields.on.removeprefix(OF_SKILL) if fields.on.startswith(OF_SKILL) else ""
    return await request.journal(triable_turns.list_last_turns, origin.agent, fields.count, skill)


def _find_persona(name: str) -> str:
    """Return the agent to which a text alone belongs, if it does."""
    first, _, rest = name.partition("/")
    return rest.partition("/")[0] if first == "personas" else ""
