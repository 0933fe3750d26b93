"""Prepare a turn for its model: base prompt, layers, history and tools.

Whatever is built from files, journal records and tools is cached until they change.
"""

from datetime import datetime
from typing import NamedTuple

import structlog

from thinker import history
from thinker.formats.own_files import OwnFiles
from thinker.formats.prompts.problem import DefinitionError
from thinker.playbooks import Matcher, Playbook, merged, required_tools
from thinker.prompt import base_prompt, cached, layers
from thinker.prompt.base_prompt import BasePrompt, Source, TurnPrompt, override
from thinker.prompt.compose import compose
from thinker.prompt.layers import TurnContext
from thinker.protocol.env import ThinkerSettings
from thinker.protocol.messages import UNTRUSTED, JsonObject, Message, ToolSpec
from thinker.protocol.methods import TurnRun
from thinker.protocol.prompt_record import ModelSettings, PromptRecord
from thinker.skills import SkillCatalog
from thinker.toolcalls.select import Selector, temperature
from thinker.toolcalls.tool_vectors import ToolVectors

log = structlog.get_logger()


class Prepared(NamedTuple):
    """A turn as the model will see it."""

    prompt: PromptRecord
    base: Source
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...]
    applied: TurnPrompt
    rest: tuple[ToolSpec, ...] = ()  # tools that the model may find

    def log(self) -> None:
        """Log its sizes and the selection of tools, without any text of the conversation."""
        record = self.prompt
        log.debug(
            "prompt_size",
            base=self.base,
            chars=record.chars,
            tokens=sum(layer.tokens for layer in record.layers),
            layers={layer.name: len(layer.text) for layer in record.layers},
            stable=record.stable,
            volatile=record.volatile,
        )
        scores = {"best_score": record.best_score, "temperature": record.temperature}
        log.debug(
            "tools_selected",
            count=len(self.tools),
            reasons=record.reasons,
            **({} if record.best_score is None else scores),
        )


class Preparation:
    """Prepares the turns of one agent; ``model`` is its ``provider/model``."""

    def __init__(self, settings: ThinkerSettings, model: str) -> None:
        self._settings = settings
        self._model = model
        self.tool_vectors = ToolVectors()
        named = (path for _, path in base_prompt.candidates(settings))
        self.files = OwnFiles((*settings.own_paths(), *named))
        self._base = BasePrompt(base_prompt.BUILT_IN, "built-in")
        self._skills = SkillCatalog(settings.skills_dirs, settings.skills)
        self._matcher = Matcher(())
        self._records: tuple[JsonObject, ...] = ()
        self._warned: set[str] = set()
        self._zone, problem = layers.zone(settings.user_timezone)
        self._warn(*filter(None, (problem,)))
        self._selector = Selector()

    def prepare(self, turn: TurnRun) -> Prepared:
        """Prepare a turn, logging what is missing."""
        self._refresh(turn.playbooks)
        applied = self._applied(turn)
        turn, persona = applied.turn, turn.profile_prompt
        foreign = turn.profile_origin in UNTRUSTED
        base = override(applied.base, None if foreign else persona)
        self._warn(*base.warnings)
        text = history.newest_words(turn.messages, turn.history)
        interactive = turn.recipe in ("interactive", "request")
        matched = self._matcher.match(text) if interactive else ()
        scores = self.tool_vectors.scores(turn.tools, turn.vector) if turn.vector else {}
        selection = self._selector.for_turn(turn, text, required_tools(matched), scores)
        for name, playbook in selection.missing.items():
            self._warn(f"required tool {name!r} of {playbook!r} is not offered")
        warmth = temperature(self._settings.temperature, scores)
        settings = self._model_settings(turn, applied, warmth)
        context = self._context(turn, base.text, matched, persona if foreign else None)
        composed = compose(turn.recipe, context)
        stable, volatile, tools_digest = cached.fingerprints(composed, selection.tools)
        record = PromptRecord(
            layers=composed,
            settings=settings,
            tools=tuple(tool.name for tool in selection.tools),
            reasons=selection.reasons,
            missing=selection.missing,
            best_score=round(max(scores.values()), 3) if scores else None,
            temperature=warmth if scores else None,
            stable=stable,
            volatile=volatile,
            tools_digest=tools_digest,
        )
        past = () if turn.recipe == "proactive" else turn.history
        # An API client's history lacks the context that earlier turns were sent with.
        if self._settings.prompt_layout == "cached" and turn.recipe != "request":
            record = cached.arrange_cached(record, past, turn.context)
        shown = self._shown(turn, past, record, applied.recent_images)
        tools, rest = selection.tools, selection.rest
        return Prepared(record, base.source, shown, tools, applied, rest)

    def _model_settings(self, turn: TurnRun, applied: TurnPrompt, warmth: float) -> ModelSettings:
        requested = turn.asked.temperature
        return ModelSettings(
            model=self._model,
            temperature=warmth if requested is None else requested,
            max_output_tokens=turn.asked.max_output_tokens,
            tool_choice=turn.tool_choice,
            parallel=applied.parallel,
            reasoning=applied.reasoning,
        )

    def _context(
        self, turn: TurnRun, base: str, matched: tuple[Playbook, ...], persona: str | None
    ) -> TurnContext:
        files = {skill.name for skill in (*self._skills.playbooks, *self._skills.listed)}
        unlisted = (skill for skill in turn.skills if skill.name not in files)
        return TurnContext(
            base=base,
            now=datetime.fromtimestamp(turn.started_at, self._zone),
            chat_id=turn.chat.chat_id,
            playbooks=matched,
            skills=(*self._skills.listed, *unlisted),
            summary=turn.summary,
            summary_origin=turn.summary_origin,
            persona=persona,
            memories=turn.memories,
            instructions=turn.asked.instructions,
            output_schema=turn.asked.output_schema,
            turn_id=turn.turn_id,
        )

    def _shown(
        self,
        turn: TurnRun,
        past: tuple[Message, ...],
        record: PromptRecord,
        recent_images: int | None,
    ) -> tuple[Message, ...]:
        """Return the conversation to send; an API request's history stays whole."""
        recent = recent_images or self._settings.recent_image_threshold
        if record.layout == "cached":
            messages = cached.with_context((*past, *turn.messages), record.context)
            return history.prepare_steady(messages, recent_images=recent)
        messages = (*cached.without_context(past), *turn.messages)
        if record.context:
            messages = cached.with_context(messages, record.context)
        if turn.recipe != "request":
            return history.prepare(messages, recent_images=recent)
        size = len(messages)
        return history.prepare(messages, window=size, keep_exchanges=size, recent_images=recent)

    def _applied(self, turn: TurnRun) -> TurnPrompt:
        """Return the turn after its prompt definition; unchanged without a valid one."""
        if turn.prompt is not None:
            # Most agents have no definition; importing it here keeps their processes small.
            from thinker.prompt.render.turn_prompt import apply_definition  # noqa: PLC0415 - see above

            try:
                return apply_definition(turn)
            except DefinitionError as error:
                self._warn(str(error))
        return TurnPrompt(turn, self._base)

    def _refresh(self, records: tuple[JsonObject, ...]) -> None:
        changed = self.files.look()
        if changed:
            self._base = base_prompt.choose(self._settings)
            self._skills.read(self.files)
        if changed or records != self._records:
            files = (*self._skills.playbooks, *self._skills.listed)
            self._matcher, self._records = Matcher(merged(files, records)), records
            self._warn(*self._skills.problems)

    def _warn(self, *problems: str) -> None:
        """Log each problem once per process, not in every turn."""
        for problem in problems:
            if problem not in self._warned:
                self._warned.add(problem)
                log.warning("prompt_problem", problem=problem)
