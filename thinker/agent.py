"""Run one turn: prepare it, then run the loop. Keeps no state of a turn.

A turn depends only on its `TurnRun` and on files that people edit, so that any process can run or
resume any turn of its agent.
"""

import asyncio
import logging
import time
from collections.abc import Mapping
from contextlib import AsyncExitStack
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING

import structlog

from thinker.answers.review import AnswerReview
from thinker.answers.verdict import AnswerValidator
from thinker.budget import TurnLimits
from thinker.extension import (
    BackgroundRequest,
    TurnHooks,
    describe_missing_extension,
    list_extensions,
)
from thinker.loop import Loop, LoopHost, LoopRequest
from thinker.models.base import Model
from thinker.models.failures import format_headline
from thinker.preparation import Preparation, PreparedTurn
from thinker.prompt.base_prompt import TurnPrompt
from thinker.prompt.fingerprint import compute_digest
from thinker.prompt.render.output_schema import build_request_contract
from thinker.protocol.background import TEXTS_EMBED, EmbeddingRequest, EmbeddingResult
from thinker.protocol.env import ThinkerSettings
from thinker.protocol.methods import ChatRef, TurnResult, TurnRun
from thinker.protocol.model_endpoints import list_known_providers
from thinker.protocol.prompt_record import TOOL_BLOCK, PromptPreview
from thinker.request_rehearsal import RehearsedModel, capture_next_request
from thinker.worker_errors import FatalModelError

if TYPE_CHECKING:
    from thinker.models.embeddings import EmbeddingModel

NO_HOOKS = describe_missing_extension("hooks", "and the agent must not run without its hooks")
CACHE_KEY_LENGTH = 32  # characters; OpenAI accepts up to 64
REVIEWED = 0.8  # of a turn's time in which an answer may go back to the model
log = structlog.get_logger()


class Agent:
    """Runs the turns of one agent, several at a time."""

    def __init__(
        self,
        settings: ThinkerSettings,
        model: Model,
        embeddings: "EmbeddingModel | None" = None,
        requests: Mapping[str, BackgroundRequest] = MappingProxyType({}),
        stack: AsyncExitStack | None = None,
    ) -> None:
        """Answer the ``requests`` of extensions as well; ``stack`` is closed with the agent."""
        self._settings = settings
        self._model = model
        self._embeddings = embeddings
        self._stack = stack
        # The provider's text may quote the input.
        embed = BackgroundRequest(EmbeddingRequest, self.embed_texts, describe=format_headline)
        self.requests = {TEXTS_EMBED: embed, **requests}

    @cached_property
    def preparation(self) -> Preparation:
        """The preparation that all turns share, created for the first one."""
        return Preparation(self._settings, self._model.name)

    @property
    def model(self) -> Model:
        """The agent's own model, with its fallbacks."""
        return self._model

    async def aclose(self) -> None:
        if self._stack is None:
            await self._model.aclose()
        else:
            await self._stack.aclose()

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
        loop = Loop(request, hooks.wrap_model(self._model), hooks.wrap_host(host))
        return await loop.run(await hooks.replay_steps(turn.steps))

    async def _build_loop_request(
        self, turn: TurnRun, prepared: PreparedTurn, hooks: TurnHooks | None
    ) -> LoopRequest:
        """Return the loop's request, with the prompt and conversation as the hooks changed them."""
        prompt = prepared.prompt if hooks is None else await hooks.filter_prompt(prepared.prompt)
        messages = prepared.messages
        if hooks is not None:
            messages = await hooks.filter_messages(messages)
        contract = build_request_contract(turn.asked) or prepared.applied.contract
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
            contract=contract,
            review=self._build_review(turn, contract),
        )

    def _build_review(self, turn: TurnRun, contract: AnswerValidator | None) -> AnswerReview | None:
        """Return the review of a turn's answer; None if a contract or a program decides on it."""
        if contract is not None or any(tool.handed_back for tool in turn.tools):
            return None
        found = (one.build_answer_judge(self._settings, turn) for one in list_extensions())
        judge = next((one for one in found if one is not None), None)
        left = turn.deadline - time.time()
        return None if judge is None else AnswerReview(judge, time.monotonic() + REVIEWED * left)

    def _load_hooks(self, turn: TurnRun, applied: TurnPrompt) -> TurnHooks | None:
        """Load the hooks of a turn; return None if it has none or hooks are not allowed."""
        names = self._settings.hooks if applied.hooks is None else applied.hooks
        if self._settings.hooks_dir is None or not names:
            return None
        for extension in list_extensions():
            if (found := extension.load_hooks(self._settings, turn, names)) is not None:
                return found
        raise FatalModelError(NO_HOOKS)

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

    async def preview_prompt(self, turn: TurnRun) -> PromptPreview:
        """Return the request of the turn's next model call after its recorded steps.

        Hooks that change it run; hooks that only observe new messages do not.
        """
        prepared = self.preparation.prepare_turn(turn)
        hooks = self._load_hooks(turn, prepared.applied)
        request = await self._build_loop_request(turn, prepared, hooks)
        model: Model = RehearsedModel(self._model)
        steps = turn.steps if hooks is None else await hooks.replay_steps(turn.steps)
        wrapped = model if hooks is None else hooks.wrap_model(model)
        sent = await capture_next_request(request, wrapped, steps)
        record = request.prompt.prepend_layer(TOOL_BLOCK, sent.tool_block)
        return PromptPreview(record=record, request=sent.body.decode())

    def _build_cache_key(self, chat: ChatRef) -> str:
        """Return an opaque key for a chat's turns; empty unless the layout is cached."""
        if self._settings.prompt_layout != "cached":
            return ""
        chat_key = (self._settings.agent_id, chat.channel, chat.chat_id, chat.thread_id or "")
        return compute_digest("\0".join(chat_key))[:CACHE_KEY_LENGTH]
