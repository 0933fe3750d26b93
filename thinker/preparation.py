"""Prepare a turn for its model: base prompt, layers, history and tools.

Everything that is built from files, journal records and tools is cached until they change.

Where: is the prompt of a turn put together?
Where: does an edited SKILL.md reach the prompt?
"""

from datetime import datetime
from typing import NamedTuple

import structlog

from thinker import history
from thinker.formats.own_files import OwnFiles
from thinker.formats.prompts.problem import DefinitionError
from thinker.playbooks import (
    Matcher,
    Playbook,
    keep_usable,
    list_required_tools,
    merge_playbooks,
)
from thinker.prompt import base_prompt, cached, layers
from thinker.prompt.base_prompt import BasePrompt, Source, TurnPrompt, override_base_prompt
from thinker.prompt.compose import compose_layers
from thinker.prompt.layers import LayerContext
from thinker.protocol.env import ThinkerSettings
from thinker.protocol.messages import UNTRUSTED, JsonObject, Message, Reasoning, ToolSpec
from thinker.protocol.methods import EVERY, TurnRun
from thinker.protocol.prompt_record import TOOL_BLOCK, ModelSettings, PromptRecord
from thinker.skills import SkillCatalog
from thinker.toolcalls.select import Selector, choose_temperature
from thinker.toolcalls.tool_vectors import ToolVectors

log = structlog.get_logger()


class PreparedTurn(NamedTuple):
    """A turn as the model will see it."""

    prompt: PromptRecord
    base: Source
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...]
    applied: TurnPrompt
    rest: tuple[ToolSpec, ...] = ()  # tools that the model may find

    def log_sizes(self) -> None:
        """Log the sizes of the prompt and the selected tools, without text of the conversation."""
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
    """Prepares the turns of one agent; ``model`` is the agent's ``provider/model``."""

    def __init__(self, settings: ThinkerSettings, model: str) -> None:
        self._settings = settings
        self._model = model
        self.tool_vectors = ToolVectors()
        named = (path for _, path in base_prompt.list_candidate_files(settings))
        chosen = (folder.path for folder in settings.list_chosen_folders())
        self.files = OwnFiles((*settings.list_own_paths(), *chosen, *named))
        self._base = BasePrompt(base_prompt.BUILT_IN, "built-in")
        self._skills = SkillCatalog(settings.skills_dirs, settings.skills)
        self._matcher = Matcher(())
        self._records: tuple[JsonObject, ...] = ()
        self._warned: set[str] = set()
        self._zone, problem = layers.find_zone(settings.user_timezone)
        self._warn_once(*filter(None, (problem,)))
        self._selector = Selector()

    def prepare_turn(self, turn: TurnRun) -> PreparedTurn:
        """Prepare a turn, and log what is missing."""
        self._refresh_files(turn.playbooks)
        applied = self._apply_turn_definition(turn)
        turn, persona = applied.turn, turn.profile_prompt
        foreign = turn.profile_origin in UNTRUSTED
        base = override_base_prompt(applied.base, None if foreign else persona)
        self._warn_once(*base.warnings)
        text = history.build_selection_text(turn.messages, turn.history)
        interactive = turn.recipe in ("interactive", "request")
        found = self._matcher.match(text) if interactive else ()
        matched = keep_usable(found, {tool.name for tool in turn.tools}) if found else ()
        scores = self.tool_vectors.compute_scores(turn.tools, turn.vector) if turn.vector else {}
        selection = self._selector.select_for_turn(turn, text, list_required_tools(found), scores)
        for name, playbook in selection.missing.items():
            self._warn_once(f"required tool {name!r} of {playbook!r} is not offered")
        warmth = choose_temperature(self._settings.temperature, scores)
        settings = self._build_model_settings(turn, applied, warmth)
        context = self._build_context(turn, base.text, matched, persona if foreign else None)
        composed = compose_layers(turn.recipe, context)
        stable, volatile, tools_digest = cached.compute_fingerprints(composed, selection.tools)
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
            playbooks=self._matcher.keywords,
        )
        past = () if turn.recipe == "proactive" else turn.history
        # An API client's history lacks the context that earlier turns were sent with.
        if self._settings.prompt_layout == "cached" and turn.recipe != "request":
            record = cached.arrange_cached(record, past, turn.context)
        if turn.given is not None and EVERY not in turn.renewed:
            record = turn.given.renew_layers(record, {TOOL_BLOCK, *turn.renewed})
        shown = self._select_messages(turn, past, record, applied.recent_images)
        tools, rest = selection.tools, selection.rest
        return PreparedTurn(record, base.source, shown, tools, applied, rest)

    def _build_model_settings(
        self, turn: TurnRun, applied: TurnPrompt, warmth: float
    ) -> ModelSettings:
        requested = turn.asked.temperature
        return ModelSettings(
            model=self._model,
            temperature=warmth if requested is None else requested,
            max_output_tokens=turn.asked.max_output_tokens,
            tool_choice=turn.tool_choice,
            parallel=applied.parallel,
            reasoning=self._choose_reasoning(turn, applied.reasoning),
        )

    def _choose_reasoning(self, turn: TurnRun, defined: Reasoning | None) -> Reasoning | None:
        """Return the effort of the message or task, or the definition's, or the agent's."""
        effort, reasoning = turn.asked.effort, defined or Reasoning()
        if effort is None and reasoning.effort is None and reasoning.max_tokens is None:
            effort = self._settings.effort
        return defined if effort is None else reasoning.replace_effort(effort)

    def _build_context(
        self, turn: TurnRun, base: str, matched: tuple[Playbook, ...], persona: str | None
    ) -> LayerContext:
        files = {skill.name for skill in self._skills.every}
        unlisted = (skill for skill in turn.skills if skill.name not in files)
        return LayerContext(
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

    def _select_messages(
        self,
        turn: TurnRun,
        past: tuple[Message, ...],
        record: PromptRecord,
        recent_images: int | None,
    ) -> tuple[Message, ...]:
        """Return the conversation to send; an API request's history stays whole."""
        recent = recent_images or self._settings.recent_image_threshold
        if record.layout == "cached":
            messages = cached.add_context((*past, *turn.messages), record.context)
            return history.prepare_steady_history(messages, recent_images=recent)
        messages = (*cached.remove_context(past), *turn.messages)
        if record.context:
            messages = cached.add_context(messages, record.context)
        if turn.recipe != "request":
            return history.prepare_history(messages, recent_images=recent)
        size = len(messages)
        return history.prepare_history(
            messages, window=size, keep_exchanges=size, recent_images=recent
        )

    def _apply_turn_definition(self, turn: TurnRun) -> TurnPrompt:
        """Return the turn as its prompt definition changes it; unchanged without a valid one."""
        if turn.prompt is not None:
            # Most agents have no definition; importing it here keeps their processes small.
            from thinker.prompt.render.turn_prompt import apply_definition  # noqa: PLC0415 - see above

            try:
                return apply_definition(turn)
            except DefinitionError as error:
                self._warn_once(str(error))
        return TurnPrompt(turn, self._base)

    def _refresh_files(self, records: tuple[JsonObject, ...]) -> None:
        changed = self.files.detect_changes()
        if changed:
            self._base = base_prompt.choose_base_prompt(self._settings)
            self._skills.read(self.files)
        if changed or records != self._records:
            merged = merge_playbooks(self._skills.every, records)
            self._matcher, self._records = Matcher(merged), records
            self._warn_once(*self._skills.problems)

    def _warn_once(self, *problems: str) -> None:
        """Log each problem once per process, not in every turn."""
        for problem in problems:
            if problem not in self._warned:
                self._warned.add(problem)
                log.warning("prompt_problem", problem=problem)
