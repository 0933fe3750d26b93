"""One turn: gather, compose, loop. Nothing of a turn is kept on the agent.

Everything that a turn depends on comes with `TurnRun` or from files that people edit, so any
process can run (or go on with) any turn of its agent.
"""

import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import structlog

from thinker import compaction, facts, history
from thinker.budget import Limits
from thinker.errors import FatalModelError
from thinker.hooks import HookedHost, HookedModel, HookFiles, Hooks, HookState, replayed
from thinker.host import Host
from thinker.loop import Loop, LoopRequest
from thinker.models.base import Model
from thinker.models.tooltext import tool_block
from thinker.playbooks import Matcher, merged, required_tools
from thinker.prompt import cached, layers
from thinker.prompt.base import Applied, BasePrompts, override
from thinker.prompt.compose import compose
from thinker.prompt.fingerprint import digest
from thinker.prompt.layers import TurnContext
from thinker.prompt.output_schema import requested
from thinker.protocol.background import (
    Compact,
    Compacted,
    Embed,
    Embedded,
    Extract,
    Extracted,
)
from thinker.protocol.env import ThinkerSettings
from thinker.protocol.messages import JsonObject, Message, ToolSpec
from thinker.protocol.methods import ChatRef, ListedSkill, TurnResult, TurnRun
from thinker.protocol.promptrecord import ModelSettings, PromptRecord
from thinker.protocol.prompts.problem import DefinitionError
from thinker.protocol.providers import PROVIDERS
from thinker.protocol.skillfile import SkillFile
from thinker.skills import SkillCatalog
from thinker.toolcalls.meaning import ToolVectors
from thinker.toolcalls.select import Selector, temperature

if TYPE_CHECKING:
    from thinker.models.embeddings import EmbeddingModel

CACHE_KEY = 32  # characters, half of what OpenAI takes
log = structlog.get_logger()


@dataclass(frozen=True)
class Prepared:
    """A turn as the model will see it."""

    prompt: PromptRecord
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...]
    applied: Applied
    settings: ModelSettings


class Agent:
    """Runs the turns of one agent; several at a time, each on its own."""

    def __init__(
        self,
        settings: ThinkerSettings,
        model: Model,
        small: Model | None = None,
        embeddings: "EmbeddingModel | None" = None,
    ) -> None:
        """``small`` is asked for summaries and facts; without one ``model`` is."""
        self._settings = settings
        self._model = model
        self._small = small or model
        self._embeddings = embeddings
        self._tool_vectors = ToolVectors()
        self._bases = BasePrompts(settings)
        self._skills = SkillCatalog(settings.skills_dirs, settings.skills)
        self._matcher = Matcher(())
        self._records: tuple[JsonObject, ...] = ()
        self._warned: set[str] = set()
        self._selector = Selector()
        self._tools_digest = cached.ToolsDigest()
        self._hook_files = None if settings.hooks_dir is None else HookFiles(settings.hooks_dir)

    async def run_turn(self, turn: TurnRun, host: Host) -> TurnResult:
        """Run a turn, or go on with one whose first steps are recorded in it."""
        prepared = self.prepare(turn)
        hooks = self._hooks(turn, prepared.applied)
        if hooks is not None:
            await hooks.begin(turn)
        prompt = prepared.prompt if hooks is None else await hooks.prompt(prepared.prompt)
        messages = prepared.messages if hooks is None else await hooks.messages(prepared.messages)
        asked = prepared.settings
        request = LoopRequest(
            turn_id=turn.turn_id,
            prompt=prompt,
            system=prompt.text,
            messages=messages,
            tools=prepared.tools,
            limits=Limits(
                max_steps=turn.max_steps or self._settings.max_steps,
                max_tokens=self._settings.max_tokens_per_turn,
                # From here on the wall clock may jump (F29): what is left is what counts.
                deadline=time.monotonic() + turn.deadline - time.time(),
            ),
            temperature=asked.temperature,
            max_output_tokens=asked.max_output_tokens,
            one_call=turn.asked.one_call,
            cache_key=self._cache_key(turn.chat),
            stream=turn.stream,
            steer=turn.steer,
            tool_choice=asked.tool_choice,
            relax=self._settings.tool_calls != "text"
            and PROVIDERS[self._settings.llm_provider].checks_arguments,
            parallel=asked.parallel,
            reasoning=asked.reasoning,
            contract=requested(turn.asked) or prepared.applied.contract,
        )
        if hooks is None:
            return await Loop(request, self._model, host).run(turn.steps)
        model, hooked = HookedModel(self._model, hooks), HookedHost(host, hooks)
        return await Loop(request, model, hooked).run(await replayed(hooks, turn.steps))

    def _hooks(self, turn: TurnRun, applied: Applied) -> Hooks | None:
        """The hooks of a turn; None when it has none, or they are not allowed."""
        names = self._settings.hooks if applied.hooks is None else applied.hooks
        if self._hook_files is None or not names:
            return None
        state = HookState(self._settings.agent_id, turn.turn_id, turn.chat)
        return Hooks(state, tuple((name, self._hook_files.find(name)) for name in names))

    async def compact(self, request: Compact) -> Compacted:
        """Summarise the older part of a session."""
        return await compaction.compact(self._small, self._settings.compaction_prompt_path, request)

    async def extract(self, request: Extract) -> Extracted:
        """Find facts about the user in a stretch of conversation."""
        return await facts.extract(self._small, self._settings.fact_extraction_prompt_path, request)

    async def embed(self, request: Embed) -> Embedded:
        """What texts mean.

        Raises:
            ModelError: nobody says.
        """
        if self._embeddings is None:
            raise FatalModelError("the agent has no embeddings; reload agents.json")
        found = await self._embeddings.embed(request.texts)
        if not request.keep:
            return found
        self._tool_vectors.keep(request.texts, found.vectors)
        return found.model_copy(update={"vectors": ()})

    def preview(self, turn: TurnRun) -> PromptRecord:
        """The prompt of a turn, as its first model call would be told it."""
        prepared = self.prepare(turn)
        if self._settings.tool_calls != "text":
            return prepared.prompt
        told = tool_block(prepared.tools, prepared.applied.turn.tool_choice)
        return prepared.prompt.below("tool_calls", told)

    def prepare(self, turn: TurnRun) -> Prepared:
        """Base prompt, layers, history and tools of a turn; logs the sizes and what is missing."""
        self._refresh(turn.playbooks)
        settings = self._settings
        applied = self._applied(turn)
        turn, base = applied.turn, override(applied.base, turn.profile_prompt)
        self._warn(*base.warnings)
        zone, problem = layers.zone(settings.user_timezone)
        if problem is not None:
            self._warn(problem)
        text = history.newest_words(turn.messages, turn.history)
        interactive = turn.recipe in ("interactive", "request")
        matched = self._matcher.match(text) if interactive else ()
        scores = self._tool_vectors.scores(turn.tools, turn.vector) if turn.vector else {}
        warmth = temperature(settings.temperature, scores)
        selection = self._selector.for_turn(turn, text, required_tools(matched), scores)
        self._warn(
            *(
                f"required tool {name!r} of {playbook!r} is not offered"
                for name, playbook in selection.missing.items()
            )
        )
        own = turn.asked.temperature
        asked = ModelSettings(
            model=self._model.name,
            temperature=warmth if own is None else own,
            max_output_tokens=turn.asked.max_output_tokens,
            tool_choice=turn.tool_choice,
            parallel=applied.parallel,
            reasoning=applied.reasoning,
        )
        record = compose(
            turn.recipe,
            TurnContext(
                base=base.text,
                now=datetime.fromtimestamp(turn.started_at, UTC),
                timezone=zone.key,
                chat_id=turn.chat.chat_id,
                playbooks=matched,
                skills=self._listed(turn.skills),
                summary=turn.summary,
                memories=turn.memories,
                instructions=turn.asked.instructions,
                output_schema=turn.asked.output_schema,
            ),
        ).model_copy(
            update={
                "settings": asked,
                "tools": tuple(tool.name for tool in selection.tools),
                "reasons": dict(selection.reasons),
                "missing": dict(selection.missing),
                "best_score": round(max(scores.values()), 3) if scores else None,
                "temperature": warmth if scores else None,
            }
        )
        record = cached.fingerprinted(record, self._tools_digest.of(selection.tools))
        past = () if turn.recipe == "proactive" else turn.history
        # The history of a program's request does not hold what earlier turns were sent with.
        if settings.prompt_layout == "cached" and turn.recipe != "request":
            record = cached.arranged(record, past, turn.context)
        log.info(
            "prompt_size",
            base=base.source,
            chars=record.chars,
            tokens=sum(layer.tokens for layer in record.layers),
            layers={layer.name: len(layer.text) for layer in record.layers},
            stable=record.stable,
            volatile=record.volatile,
        )
        meant = {"best_score": record.best_score, "temperature": warmth} if scores else {}
        reasons = dict(selection.reasons)
        log.info("tools_selected", count=len(selection.tools), reasons=reasons, **meant)
        shown = self._shown(turn, past, record, applied.recent_images)
        return Prepared(record, shown, selection.tools, applied, asked)

    def _shown(
        self,
        turn: TurnRun,
        past: tuple[Message, ...],
        record: PromptRecord,
        recent_images: int | None,
    ) -> tuple[Message, ...]:
        """The conversation as the model is sent it; a program's whole, as it chose to send it."""
        recent = recent_images or self._settings.recent_image_threshold
        if record.layout == "cached":
            said = (*past, *cached.in_context(turn.messages, record.context))
            return history.prepare_steady(said, recent_images=recent)
        said = (*cached.without_context(past), *turn.messages)
        if turn.recipe != "request":
            return history.prepare(said, recent_images=recent)
        size = len(said)
        return history.prepare(said, window=size, keep_exchanges=size, recent_images=recent)

    def _cache_key(self, chat: ChatRef) -> str:
        """The same for all turns of a chat, in the cached layout alone; tells nobody which chat."""
        if self._settings.prompt_layout != "cached":
            return ""
        place = (self._settings.agent_id, chat.channel, chat.chat_id, chat.thread_id or "")
        return digest("\0".join(place))[:CACHE_KEY]

    def _applied(self, turn: TurnRun) -> Applied:
        """The turn as its prompt definition wants it; as it is, when it has none that works."""
        if turn.prompt is not None:
            # Most agents have no definition, and their processes do without its models.
            from thinker.prompt.definition import applied  # noqa: PLC0415 - see above

            try:
                return applied(turn)
            except DefinitionError as error:
                self._warn(str(error))
        return Applied(turn, self._bases.current())

    def _refresh(self, records: tuple[JsonObject, ...]) -> None:
        """Build the matcher anew only when a file or a record of the journal changed."""
        if self._skills.refresh() or records != self._records:
            files = (*self._skills.playbooks, *self._skills.listed)
            self._matcher, self._records = Matcher(merged(files, records)), records
            self._warn(*self._skills.problems)

    def _listed(self, skills: tuple[ListedSkill, ...]) -> tuple[SkillFile | ListedSkill, ...]:
        files = {skill.name for skill in (*self._skills.playbooks, *self._skills.listed)}
        return (*self._skills.listed, *(skill for skill in skills if skill.name not in files))

    def _warn(self, *problems: str) -> None:
        """Log each problem once in this process, not at every turn."""
        for problem in problems:
            if problem not in self._warned:
                self._warned.add(problem)
                log.warning("prompt_problem", problem=problem)
