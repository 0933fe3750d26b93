"""Run one turn: prepare it, then run the loop. Keeps no state of a turn.

A turn depends only on its `TurnRun` and on files that people edit, so that any process can run or
resume any turn of its agent.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

import anyio
import structlog

from thinker import compaction, facts
from thinker.budget import TurnLimits
from thinker.hooks import HookedHost, HookedModel, HookFiles, Hooks, HookState, replay_steps
from thinker.loop import Loop, LoopHost, LoopRequest
from thinker.models.base import Model
from thinker.preparation import Preparation, PreparedTurn
from thinker.prompt.base_prompt import TurnPrompt
from thinker.prompt.fingerprint import compute_digest
from thinker.prompt.render.output_schema import build_request_contract
from thinker.protocol.background import (
    CompactionRequest,
    CompactionResult,
    EmbeddingRequest,
    EmbeddingResult,
    ExtractionRequest,
    ExtractionResult,
    ModelTrialRequest,
    ModelTrialResult,
)
from thinker.protocol.env import ThinkerSettings
from thinker.protocol.methods import ChatRef, TurnResult, TurnRun
from thinker.protocol.model_endpoints import find_call_seconds, list_known_providers
from thinker.protocol.prompt_record import PromptPreview
from thinker.request_rehearsal import RehearsedModel, capture_first_request
from thinker.worker_errors import FatalModelError, RetryableModelError

if TYPE_CHECKING:
    from thinker.models.embeddings import EmbeddingModel
    from thinker.models.media_models import MediaModels

CACHE_KEY_LENGTH = 32  # characters; OpenAI accepts up to 64
R = TypeVar("R")
log = structlog.get_logger()


class Agent:
    """Runs the turns of one agent, several at a time."""

    def __init__(
        self,
        settings: ThinkerSettings,
        model: Model,
        small: Model | None = None,
        embeddings: "EmbeddingModel | None" = None,
        media: "MediaModels | None" = None,
    ) -> None:
        """Use ``small`` for summaries and facts, by default ``model``."""
        self._settings = settings
        self._model = model
        self._small = small or model
        self._embeddings = embeddings
        self.media = media
        self._hook_files = None if settings.hooks_dir is None else HookFiles(settings.hooks_dir)

    @cached_property
    def preparation(self) -> Preparation:
        """The preparation that all turns share, created for the first one."""
        return Preparation(self._settings, self._model.name)

    @property
    def model(self) -> Model:
        """The agent's own model, with its fallbacks."""
        return self._model

    async def aclose(self) -> None:
        await self._small.aclose()  # the small model is, or wraps, the agent's own
        for models in (self._embeddings, self.media):
            if models is not None:
                await models.aclose()

    async def run_turn(self, turn: TurnRun, host: LoopHost) -> TurnResult:
        """Run a turn, or resume one that has recorded steps."""
        prepared = self.preparation.prepare_turn(turn)
        if log.is_enabled_for(logging.DEBUG):
            # Log after the request is sent, so that the answer does not wait for it.
            asyncio.get_running_loop().call_soon(prepared.log_sizes)
        hooks = self._load_hooks(turn, prepared.applied)
        if hooks is not None:
            await hooks.run_start_hooks(turn)
        request = await self._build_loop_request(turn, prepared, hooks)
        if hooks is None:
            return await Loop(request, self._model, host).run(turn.steps)
        model, hooked = HookedModel(self._model, hooks), HookedHost(host, hooks)
        return await Loop(request, model, hooked).run(await replay_steps(hooks, turn.steps))

    async def _build_loop_request(
        self, turn: TurnRun, prepared: PreparedTurn, hooks: Hooks | None
    ) -> LoopRequest:
        """Return the loop's request, with the prompt and conversation as the hooks changed them."""
        prompt = prepared.prompt if hooks is None else await hooks.filter_prompt(prepared.prompt)
        messages = prepared.messages
        if hooks is not None:
            messages = await hooks.filter_conversation("filter_messages", messages)
        return LoopRequest(
            turn_id=turn.turn_id,
            prompt=prompt,
            messages=messages,
            tools=prepared.tools,
            rest=prepared.rest,
            limits=TurnLimits(
                max_steps=turn.max_steps or self._settings.max_steps,
                max_tokens=self._settings.max_tokens_per_turn,
                # A remaining time, since the wall clock may jump during the turn.
                deadline=time.monotonic() + turn.deadline - time.time(),
            ),
            one_call=turn.asked.one_call,
            cache_key=self._build_cache_key(turn.chat),
            stream=turn.stream,
            steer=turn.steer,
            relax=not self._settings.tool_calls.startswith("text")
            and list_known_providers(self._settings)[
                self._settings.llm_provider
            ].requests.checks_arguments,
            contract=build_request_contract(turn.asked) or prepared.applied.contract,
        )

    def _load_hooks(self, turn: TurnRun, applied: TurnPrompt) -> Hooks | None:
        """Load the hooks of a turn; return None if it has none or hooks are not allowed."""
        names = self._settings.hooks if applied.hooks is None else applied.hooks
        if self._hook_files is None or not names:
            return None
        state = HookState(self._settings.agent_id, turn.turn_id, turn.chat)
        return Hooks(state, tuple((name, self._hook_files.load_hook(name)) for name in names))

    async def compact_session(self, request: CompactionRequest) -> CompactionResult:
        path = self._settings.compaction_prompt_path
        return await self._limit_time(compaction.compact_session(self._small, path, request))

    async def extract_facts(self, request: ExtractionRequest) -> ExtractionResult:
        path = self._settings.fact_extraction_prompt_path
        return await self._limit_time(facts.extract_facts(self._small, path, request))

    async def _limit_time(self, work: Awaitable[R]) -> R:
        seconds = find_call_seconds(self._settings)
        with anyio.move_on_after(seconds):
            return await work
        raise RetryableModelError(f"{self._small.name} did not answer in {seconds:.0f} seconds")

    async def embed_texts(self, request: EmbeddingRequest) -> EmbeddingResult:
        """Return the vectors of strings; with ``keep``, store them for selecting tools instead.

        Raises:
            ModelError: the agent has no embeddings model, or that model did not answer.
        """
        if self._embeddings is None:
            raise FatalModelError("the agent has no embeddings; reload agents.json")
        embedded = await self._embeddings.embed_texts(request)
        if not request.keep:
            return embedded
        self.preparation.tool_vectors.store_vectors(request.texts, embedded.vectors)
        return embedded.model_copy(update={"vectors": ()})

    async def try_model(self, request: ModelTrialRequest) -> ModelTrialResult:
        """Make one small call to find out whether the model has an ability."""
        # Only a command needs the import, in a worker of its own.
        from thinker.model_trials import run_trial  # noqa: PLC0415 - see above

        return await run_trial(self._settings, self._embeddings, request.trial)

    async def preview_prompt(self, turn: TurnRun) -> PromptPreview:
        """Return the request of the turn's first model call.

        Hooks that change it run; hooks that only observe new messages do not.
        """
        prepared = self.preparation.prepare_turn(turn)
        hooks = self._load_hooks(turn, prepared.applied)
        request = await self._build_loop_request(turn, prepared, hooks)
        model: Model = RehearsedModel(self._model)
        sent = await capture_first_request(request, HookedModel(model, hooks) if hooks else model)
        record = request.prompt.prepend_layer("tool_calls", sent.tool_block)
        return PromptPreview(record=record, request=sent.body.decode())

    def _build_cache_key(self, chat: ChatRef) -> str:
        """Return an opaque key for a chat's turns; empty unless the layout is cached."""
        if self._settings.prompt_layout != "cached":
            return ""
        chat_key = (self._settings.agent_id, chat.channel, chat.chat_id, chat.thread_id or "")
        return compute_digest("\0".join(chat_key))[:CACHE_KEY_LENGTH]
