"""Hooks: an operator's Python functions at fixed points of a turn. Off unless allowed.

A hook is a file ``<home>/hooks/<id>.py``, or an entry point ``<id>`` of the group
``orchestrator.hooks``. It defines functions with the names of the points; each may be ``async``::

    def filter_messages(state, messages):
        return messages[-20:]

* ``after_thread_created(state)``: the first message of a conversation
* ``after_subagent_created(state)``: the same, for a subagent, in its own process
* ``after_system_message(state, text)``: the system prompt
* ``filter_messages(state, messages)``: the conversation, once per turn
* ``prefilter_llm_history(state, messages)``: the conversation, before every model call
* ``before_create_message(state, message)``: the model's answer, before it is stored or shown
* ``after_create_message(state, message)``: that answer, or a user's message
* ``tool_call_started(state, call)``
* ``after_tool_call_success(state, call, result)``, ``after_tool_call_failure(…)``
* ``tool_call_done(state, call, result)``

A returned value replaces the last argument; None keeps it. Hooks run in the listed order. A
failing hook is logged, and the last good value is kept. Only ``prefilter_llm_history`` may stop the
step, with an exception that has ``block = True``. After a crash a point may be called again. Stored
messages never change, so there is no point for that.
"""

import inspect
import linecache
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, TypeVar

import anyio
import structlog
from anyio import to_thread
from pydantic import TypeAdapter

from thinker import history
from thinker.formats import regular_file
from thinker.formats.regular_file import Identity, read_identity
from thinker.loop import LoopHost
from thinker.models.base import Model, ModelRequest, ModelResponse, ModelWrapper
from thinker.protocol import methods
from thinker.protocol.messages import (
    LATE,
    AssistantMessage,
    LayerRecord,
    Message,
    ToolResult,
    UserMessage,
)
from thinker.protocol.methods import ChatRef, PlannedCall, RecordedStep, TurnRun
from thinker.protocol.prompt_record import PromptRecord
from thinker.worker_errors import FatalModelError

GROUP = "orchestrator.hooks"
HOOK_SECONDS = 10.0  # limit for one hook at one point
MESSAGES: TypeAdapter[tuple[Message, ...]] = TypeAdapter(tuple[Message, ...], config=LATE)
T = TypeVar("T")
log = structlog.get_logger()


@dataclass(frozen=True)
class HookState:
    """The first argument of every hook: the agent, the turn and the chat."""

    agent_id: str
    turn_id: str
    chat: ChatRef


class HookFiles:
    """The hooks in a directory and in installed packages; changed files are read again."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._loaded: dict[str, tuple[Identity | None, Mapping[str, Any]]] = {}

    def load_hook(self, hook: str) -> Mapping[str, Any]:
        """Return a hook's functions, keyed by name; log a failure and return no functions."""
        path = self._directory / f"{hook}.py"
        seen = read_identity(path)
        if hook not in self._loaded or self._loaded[hook][0] != seen:
            try:
                functions = _run_file(path) if seen else _load_entry_point(hook)
            except Exception as error:  # noqa: BLE001 - a hook is foreign code
                log.error("hook_not_loaded", hook=hook, problem=repr(error))
                functions = {}
            self._loaded[hook] = seen, functions
        return self._loaded[hook][1]


@dataclass(frozen=True)
class Hooks:
    """The hooks of one turn, in order."""

    state: HookState
    hooks: tuple[tuple[str, Mapping[str, Any]], ...]

    async def run_start_hooks(self, turn: TurnRun) -> None:
        """Call the start hooks for this turn, unless another process already did."""
        if turn.steps:
            return
        if not turn.history and turn.summary is None:
            kind = "subagent" if turn.recipe == "subagent" else "thread"
            await self.notify_hooks(f"after_{kind}_created")
        for message in turn.messages:
            await self.notify_hooks("after_create_message", message)

    async def filter_prompt(self, record: PromptRecord) -> PromptRecord:
        """Return the prompt after ``after_system_message``; a changed one is a single layer."""
        name = "after_system_message"
        text = await self._filter_value(name, record.text, str)
        if text == record.text:
            return record
        first = LayerRecord(name=name, text=text)
        others = (layer for layer in record.layers if record.is_in_message(layer))
        return record.model_copy(update={"layers": (first, *others)})

    async def filter_messages(self, messages: tuple[Message, ...]) -> tuple[Message, ...]:
        return await self.filter_conversation("filter_messages", messages)

    async def filter_conversation(
        self, point: str, messages: tuple[Message, ...]
    ) -> tuple[Message, ...]:
        """Return the conversation after the hooks of this point, with calls and results paired.

        Raises:
            FatalModelError: a hook stopped the step.
        """
        found = await self._filter_value(point, messages, MESSAGES.validate_python)
        return messages if found == messages else history.repair_history(found)

    async def replay_steps(self, steps: Sequence[RecordedStep]) -> list[RecordedStep]:
        """Return recorded steps with their results passed through the hooks again."""
        shown = []
        for step in steps:
            calls = []
            for made in step.calls:
                result = made.result and await self.filter_result(
                    _build_call(made.result), made.result
                )
                calls.append(made.model_copy(update={"result": result}))
            shown.append(step.model_copy(update={"calls": tuple(calls)}))
        return shown

    def wrap_model(self, model: Model) -> "HookedModel":
        return HookedModel(model, self)

    def wrap_host(self, host: LoopHost) -> "HookedHost":
        return HookedHost(host, self)

    async def filter_answer(self, message: AssistantMessage) -> AssistantMessage:
        return await self._filter_value(
            "before_create_message", message, AssistantMessage.model_validate
        )

    @property
    def changes_answers(self) -> bool:
        """Whether hooks may change an answer, so that it must not be streamed."""
        return any(self._iter_functions("before_create_message"))

    async def filter_result(self, call: PlannedCall, result: ToolResult) -> ToolResult:
        """Return a call's result for the model; the journal keeps the original."""
        name = "after_tool_call_failure" if result.is_error else "after_tool_call_success"
        changed = await self._filter_value(name, result, ToolResult.model_validate, call)
        await self.notify_hooks("tool_call_done", call, changed)
        return changed.model_copy(update={"call_id": result.call_id, "name": result.name})

    async def notify_hooks(self, point: str, *values: object) -> None:
        """Call every hook of this point and ignore the results."""
        for hook, function in self._iter_functions(point):
            try:
                await _call_hook(function, self.state, *values)
            except Exception:
                log.exception("hook_failed", hook=hook, point=point)

    async def _filter_value(
        self, point: str, value: T, read: Callable[[Any], T], *before: PlannedCall
    ) -> T:
        for hook, function in self._iter_functions(point):
            try:
                found = await _call_hook(function, self.state, *before, value)
                value = value if found is None else read(found)
            except Exception as error:
                if point == "prefilter_llm_history" and getattr(error, "block", False) is True:
                    raise FatalModelError(f"the hook {hook!r} stopped the step: {error}") from error
                log.exception("hook_failed", hook=hook, point=point)
        return value

    def _iter_functions(self, point: str) -> Iterator[tuple[str, Callable[..., Any]]]:
        for hook, functions in self.hooks:
            if callable(function := functions.get(point)):
                yield hook, function


@dataclass(eq=False)
class HookedModel(ModelWrapper):
    """A model whose requests and answers pass through the hooks."""

    hooks: Hooks

    async def complete(self, request: ModelRequest) -> ModelResponse:
        messages = await self.hooks.filter_conversation("prefilter_llm_history", request.messages)
        on_text = None if self.hooks.changes_answers else request.on_text
        response = await self.model.complete(replace(request, messages=messages, on_text=on_text))
        return replace(response, message=await self.hooks.filter_answer(response.message))


class HookedHost:
    """A host whose steps, calls and results pass through the hooks."""

    def __init__(self, host: LoopHost, hooks: Hooks) -> None:
        self._host = host
        self._hooks = hooks
        self._calls: dict[int, PlannedCall] = {}

    async def commit_step(self, commit: methods.StepCommit) -> methods.StepCommitted:
        """Commit the step (T3), then run the hooks for it and for calls answered with it."""
        committed = await self._host.commit_step(commit)
        await self._hooks.notify_hooks("after_create_message", commit.response)
        self._calls |= dict(zip(committed.call_seqs, commit.calls, strict=True))
        results = {}
        for seq, result in committed.results.items():
            await self._hooks.notify_hooks("tool_call_started", self._calls[seq])
            results[seq] = await self._hooks.filter_result(self._calls[seq], result)
        return committed.model_copy(update={"results": results})

    async def call_tool(self, seq: int) -> ToolResult:
        """Run a call between its hooks; the call of an earlier process already has a result."""
        call = self._calls.get(seq)
        if call is not None:
            await self._hooks.notify_hooks("tool_call_started", call)
        result = await self._host.call_tool(seq)
        return await self._hooks.filter_result(call or _build_call(result), result)

    async def take_new_messages(self) -> tuple[UserMessage, ...]:
        messages = await self._host.take_new_messages()
        for message in messages:
            await self._hooks.notify_hooks("after_create_message", message)
        return messages

    def show_partial_answer(self, text: str) -> None:
        self._host.show_partial_answer(text)

    def is_draining(self) -> bool:
        return self._host.is_draining()


def _build_call(result: ToolResult) -> PlannedCall:
    return PlannedCall(id=result.call_id, name=result.name, arguments={})


async def _call_hook(function: Callable[..., Any], *arguments: object) -> Any:  # noqa: ANN401 - a hook's
    """Call a hook and return its result; a hook that is not async runs in a thread."""
    with anyio.fail_after(HOOK_SECONDS):
        if inspect.iscoroutinefunction(function):
            return await function(*arguments)
        return await to_thread.run_sync(function, *arguments, abandon_on_cancel=True)


def _run_file(path: Path) -> Mapping[str, Any]:
    """Return the names that a hook's file defines."""
    source = regular_file.read_bytes(path, regular_file.HOOK)
    names: dict[str, Any] = {"__name__": path.stem, "__file__": str(path)}
    exec(compile(source, path, "exec"), names)  # noqa: S102 - the operator's own code
    # Otherwise a traceback would open the file again, which may be a named pipe by then.
    lines = source.decode("utf-8", "replace").splitlines(keepends=True)
    linecache.cache[str(path)] = (len(source), None, lines, str(path))
    return names


def _load_entry_point(hook: str) -> Mapping[str, Any]:
    (found,) = entry_points(group=GROUP, name=hook) or (None,)
    if found is None:
        raise LookupError(f"no file hooks/{hook}.py and no entry point {hook} of {GROUP}")
    loaded = found.load()
    return loaded if isinstance(loaded, Mapping) else vars(loaded)
