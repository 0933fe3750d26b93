"""Run extensions' tools in threads, with a time limit and a limit on concurrent calls."""

import math
import threading
from dataclasses import dataclass, field

import anyio
import structlog
from anyio import to_thread

from orchestrator.journal.turns.steps import Call
from orchestrator.tools.builtin.host_tool import Caller, ExtensionTool, ToolContext, ToolFailure
from thinker.protocol.messages import SideEffect, ToolResult

MAX_CALLS = 16  # concurrent calls, including abandoned ones that still run
MAX_TEXT = 1_000_000  # characters of a result
FULL = (
    f"{MAX_CALLS} calls of tools of extensions run already; try again later, and if none of them"
    " ends, an operator has to restart the daemon"
)
log = structlog.get_logger()


@dataclass(frozen=True)
class ExtensionCalls:
    """Runs calls of extensions' tools; an exception becomes a result, and faults are logged."""

    _slots: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(MAX_CALLS))
    _threads: anyio.CapacityLimiter = field(default_factory=lambda: anyio.CapacityLimiter(math.inf))

    async def run_call(
        self, tool: ExtensionTool, call: Call, context: ToolContext
    ) -> ToolResult | None:
        """Return the result of a call past T4; None if it is unknown whether the tool ran."""
        address = context.address
        caller = Caller(
            agent_id=context.agent_id,
            channel=address.channel,
            chat_id=address.chat_id,
            timezone=context.timezone,
            key=call.idem_key,
        )
        with anyio.move_on_after(tool.seconds):
            try:
                text = await to_thread.run_sync(
                    self._run_function,
                    tool,
                    caller,
                    call,
                    abandon_on_cancel=True,
                    limiter=self._threads,
                )
            except ToolFailure as failure:
                return _build_result(tool, call, str(failure), is_error=True)
            except Exception as error:  # third-party code may fail in any way
                log.exception("extension_tool_broke", extension=tool.extension, tool=call.name)
                problem = f"the tool failed: {type(error).__name__}: {error}"
                return _build_result(tool, call, problem, is_error=True)
            return _build_result(tool, call, text)
        log.warning("extension_tool_given_up", tool=call.name, seconds=tool.seconds)
        if call.side_effect is not SideEffect.PURE:
            return None
        problem = f"the tool did not finish in {tool.seconds:.0f} seconds"
        return _build_result(tool, call, problem, is_error=True)

    def _run_function(self, tool: ExtensionTool, caller: Caller, call: Call) -> str:
        if not self._slots.acquire(blocking=False):
            raise ToolFailure(FULL)
        try:
            return tool.function(caller, call.arguments)
        except Exception:
            raise
        except BaseException as error:  # it would end the daemon, or look like a cancellation
            raise RuntimeError(f"it raised {type(error).__name__}") from error
        finally:
            self._slots.release()


def _build_result(
    tool: ExtensionTool, call: Call, text: str, *, is_error: bool = False
) -> ToolResult:
    shown = text.encode("utf-8", "replace").decode()
    if len(shown) > MAX_TEXT:
        shown = f"{shown[:MAX_TEXT]}\n[{len(shown) - MAX_TEXT} more characters were left out]"
    return ToolResult(
        call_id=call.call_id,
        name=call.name,
        content=shown,
        is_error=is_error,
        origin=tool.origin,
        private=tool.private,
    )
