"""Methods of the page that only look at the daemon: its log, its processes, its tools."""

import os
from collections.abc import Mapping

from pydantic import JsonValue

from orchestrator.extension import DaemonView
from orchestrator.extensions.page.daemon_side.log_tail import read_tail
from orchestrator.extensions.page.daemon_side.page_protocol import (
    LOG_TAIL,
    PROCESS_LIST,
    TOOL_RULES,
    LogLines,
    ProcessNumbers,
    ProcessTable,
    ToolRuleTable,
)
from orchestrator.extensions.page.daemon_side.process_figures import measure_processes
from orchestrator.extensions.page.daemon_side.tool_rules import list_tool_rules
from thinker.protocol.peer import RequestHandler

FRESH_SECONDS = 5.0  # for which figures of processes are reused; they cost 1 ms a process


class DaemonLooks:
    """Answers these methods for the page."""

    def __init__(self, daemon: DaemonView) -> None:
        self._daemon = daemon
        self._measured = (0.0, ProcessNumbers(pids=()), ProcessTable(processes=()))

    @property
    def methods(self) -> Mapping[str, RequestHandler]:
        """The handlers, keyed by method."""
        return {
            LOG_TAIL: self._read_log,
            PROCESS_LIST: self._measure_processes,
            TOOL_RULES: self._list_tool_rules,
        }

    async def _read_log(self, params: JsonValue) -> LogLines:
        del params
        daemon = self._daemon
        return LogLines(lines=await daemon.machine.off_loop(read_tail, daemon.settings.paths.log))

    async def _measure_processes(self, params: JsonValue) -> ProcessTable:
        wanted, now = ProcessNumbers.model_validate(params), self._daemon.machine.monotonic()
        until, known, found = self._measured
        if now >= until or known != wanted:
            off_loop = self._daemon.machine.off_loop
            found = await off_loop(measure_processes, wanted, os.getpid())
            self._measured = (now + FRESH_SECONDS, wanted, found)
        return found

    async def _list_tool_rules(self, params: JsonValue) -> ToolRuleTable:
        del params
        return list_tool_rules(self._daemon.operations)
