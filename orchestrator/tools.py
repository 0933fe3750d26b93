"""Running tool calls: the one place where policy is enforced (design §12).

A call is already in the journal when it gets here. It runs in a task of the supervisor's own, so
the death of the worker that asked for it neither stops nor repeats it: the next worker asks for
the same call and gets the same result.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import anyio
import apsw
import structlog
from anyio.abc import TaskGroup

from orchestrator import policy
from orchestrator.crashpoints import boundary
from orchestrator.definitions import AgentDefinition
from orchestrator.errors import JournalError
from orchestrator.hosttools.base import JournalTool, PlainTool, ToolContext, ToolFailure
from orchestrator.hosttools.catalogue import TOOLS
from orchestrator.journal import audit, steps
from orchestrator.journal.steps import Call
from orchestrator.journal.store import Store
from thinker.protocol.messages import ToolResult

TOOL_TIMEOUT = 60.0  # seconds; reliability.md §4.6
log = structlog.get_logger()


@dataclass
class _Pending:
    done: anyio.Event = field(default_factory=anyio.Event)
    result: ToolResult | None = None


class ToolRunner:
    """Runs each committed call at most once at a time, whoever asks."""

    def __init__(self, store: Store, tasks: TaskGroup, clock: Callable[[], int]) -> None:
        self._store = store
        self._tasks = tasks
        self._clock = clock
        self._pending: dict[tuple[str, int], _Pending] = {}

    def running(self, turn_id: str) -> frozenset[int]:
        """The calls of a turn that are being run at this moment."""
        return frozenset(seq for turn, seq in self._pending if turn == turn_id)

    async def call(
        self, definition: AgentDefinition, context: ToolContext, seq: int, epoch: int
    ) -> ToolResult:
        """The durable result of a call, running it if it has none.

        Raises:
            JournalError: its result could not be stored; it may be asked for again.
        """
        key = (context.turn_id, seq)
        pending = self._pending.get(key)
        if pending is None:
            pending = self._pending[key] = _Pending()
            self._tasks.start_soon(self._run, pending, definition, context, seq, epoch)
        await pending.done.wait()
        if pending.result is None:
            raise JournalError(f"call {context.turn_id}:{seq} has no result yet")
        return pending.result

    async def _run(
        self,
        pending: _Pending,
        definition: AgentDefinition,
        context: ToolContext,
        seq: int,
        epoch: int,
    ) -> None:
        try:
            call = await self._store.transact(steps.load_call, context.turn_id, seq)
            if call is None:
                raise JournalError(f"there is no call {context.turn_id}:{seq}")  # noqa: TRY301
            pending.result = call.result or await self._execute(call, definition, context, epoch)
        except JournalError as error:
            log.error("tool_call_failed", seq=seq, problem=str(error))  # noqa: TRY400 - expected
        finally:
            del self._pending[(context.turn_id, seq)]
            pending.done.set()

    async def _execute(
        self, call: Call, definition: AgentDefinition, context: ToolContext, epoch: int
    ) -> ToolResult:
        tool = TOOLS.get(call.name)
        decision = policy.decide(call.name, definition.allowed_tools, definition.denied_tools)
        if tool is None or not decision.allowed:
            return await self._store.transact(self._deny, call, decision.reason)
        log.info("tool_call", tool=call.name, seq=call.seq)
        if isinstance(tool, JournalTool):
            return await self._store.transact(
                steps.finish_local, call, _effect(tool, call, context), epoch, self._clock()
            )
        await self._store.transact(steps.intend, call.turn_id, call.seq, epoch, self._clock())
        boundary("effect:before")
        result = await _outcome(tool, call, context)
        boundary("effect:after")
        return await self._store.transact(steps.finish, call, result, self._clock())

    def _deny(self, db: apsw.Connection, call: Call, reason: str) -> ToolResult:
        audit.record(db, "policy", f"denied {call.name}: {reason}", call.idem_key, self._clock())
        text = f"the tool {call.name!r} is not allowed for this agent ({reason})"
        return steps.finish(db, call, _failure(call, text), self._clock())


def _effect(
    tool: JournalTool, call: Call, context: ToolContext
) -> Callable[[apsw.Connection], ToolResult]:
    def run(db: apsw.Connection) -> ToolResult:
        try:
            text = tool.effect(db, context, call.arguments)
        except ToolFailure as failure:
            return _failure(call, str(failure))
        return ToolResult(call_id=call.call_id, name=call.name, content=text)

    return run


async def _outcome(tool: PlainTool, call: Call, context: ToolContext) -> ToolResult:
    try:
        with anyio.fail_after(TOOL_TIMEOUT):
            text = await tool.run(context, call.arguments)
    except ToolFailure as failure:
        return _failure(call, str(failure))
    except TimeoutError:
        return _failure(call, f"the tool did not finish in {TOOL_TIMEOUT:.0f} seconds")
    except OSError as error:
        return _failure(call, f"the tool failed: {error}")
    return ToolResult(call_id=call.call_id, name=call.name, content=text)


def _failure(call: Call, text: str) -> ToolResult:
    return ToolResult(call_id=call.call_id, name=call.name, content=text, is_error=True)
