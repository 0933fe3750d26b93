"""Print what the daemon tells of itself, from its models or from plain JSON."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from orchestrator.cli.output import format_count, format_moment, print_text, write_line
from orchestrator.cli.tables import Columns, print_json, print_records
from orchestrator.errors import ExitCode
from thinker.protocol.names import format_turn_name
from thinker.protocol.problem_line import format_problem

if TYPE_CHECKING:
    from orchestrator.config_problem import Problem
    from orchestrator.control.protocol import HealthReport, StatusReport

AGENTS: Columns = {
    "agent": "agent_id",
    "state": "state",
    "pid": "pid",
    "restarts": "restarts",
    "provider": "provider",
    "model": "model",
    "reads": "window",
    "memory": "memory",
    "paused": "paused",
    "reason": "reason",
}
MAX_PROCESSES = 40  # shown
BUDGETS: Columns = {
    "of all agents": lambda use: f"this {use.window.lower()}",
    "dollars": lambda use: _format_use(use.usd, use.usd_limit, ".2f"),
    "tokens": lambda use: _format_use(use.tokens, use.token_limit, ",d"),
}
PROCESSES: Columns = {"process": "name", "pid": "pid", "sandbox": "sandbox", "reason": "reason"}
NODES: Columns = {
    "node": "name",
    "address": "address",
    "state": lambda node: "works" if node.works else "stands by",
    "groups": "groups",
    "connected": lambda node: format_moment(node.since),
}
BROKER: Columns = {"state": "state", "pid": "pid", "restarts": "restarts", "reason": "reason"}
CHANNELS: Columns = {"channel": "name", "state": "state", "detail": "detail"}
TOOL_SERVERS: Columns = {
    "server": "name",
    "state": "state",
    "tools": "tools",
    "sandbox": "sandbox",
    "problem": "error",
}
RECENT_TURNS: Columns = {
    "turn": lambda turn: format_turn_name(turn.turn_id),
    "agent": "agent_id",
    "chat": "chat",
    "state": "state",
    "stop reason": "stop_reason",
    "tools": lambda turn: ", ".join(turn.tools),
    "ms": "ms",
}


def show_problems(problems: "tuple[Problem, ...]") -> None:
    """Print each problem on a line of its own: a table would cut the sentences."""
    if problems:
        write_line("Problems of the configuration")
    for problem in problems:
        print_text(format_problem(problem.severity, problem.file, problem.line, problem.message))
    if problems:
        write_line()


def print_health(report: "HealthReport", *, ready: bool = False, as_json: bool = False) -> int:
    """Print a health report and return the exit code; ``ready`` requires a ready daemon."""
    lines = (*report.reasons, *report.notes)
    if as_json:
        print_json(report, indent=None)
    else:
        write_line("ready" if report.ready else "alive, not ready")
        for line in lines:
            print_text(line)
    return ExitCode.FAILED if ready and not report.ready else ExitCode.OK


def print_status(report: "StatusReport", *, as_json: bool = False) -> int:
    """Print a status report and return the exit code."""
    if as_json:
        print_json(report)
        return ExitCode.OK
    state = "ready" if report.ready else "not ready"
    inbox = ", ".join(f"{number} {name}" for name, number in report.inbox.items()) or "empty"
    write_line(f"orchestrator {report.version}, {state}")
    write_line(f"home    {report.home}\nconfig  {report.config_file}")
    started = format_count(report.starts, "start")
    write_line(f"journal {report.journal}, {report.journal_bytes / 1e6:.1f} MB, {started}")
    write_line(f"turns   {format_count(report.open_turns, 'open turn')}\ninbox   {inbox}")
    if report.workers is not None:
        workers = report.workers
        waiting = f", {workers.waiting} waiting" if workers.waiting else ""
        write_line(f"workers {workers.live} of at most {workers.limit}{waiting}")
    write_line()
    print_records("Nodes", report.nodes, NODES)
    print_agents(report)
    print_records("Shared budget", report.budgets, BUDGETS)
    print_records("Broker", filter(None, [report.broker]), BROKER)
    print_records("Processes", report.processes[:MAX_PROCESSES], PROCESSES)
    if len(report.processes) > MAX_PROCESSES:
        print_text(f"and {len(report.processes) - MAX_PROCESSES} more processes\n")
    print_records("Channels", report.channels, CHANNELS)
    print_records("MCP servers", report.tool_servers, TOOL_SERVERS)
    show_problems(report.config_errors)
    print_records("Recent turns", report.recent_turns, RECENT_TURNS)
    for hint in report.hints:
        print_text(hint)
    return ExitCode.OK


def print_agents(report: "StatusReport") -> None:
    """Print the agents of a report; if some are left out, how many are in each state."""
    if report.agents_left_out:
        states = ", ".join(f"{count:,} {state}" for state, count in report.agent_states.items())
        write_line(f"{sum(report.agent_states.values()):,} agents: {states}")
    print_records("Agents", report.agents, AGENTS)
    if report.agents_left_out:
        print_text(f"and {report.agents_left_out:,} more; list some with --agents GLOB, or --all\n")


def _format_use(used: float, limit: float | None, form: str) -> str:
    return "" if limit is None else f"{used:{form}} of {limit:{form}}"


PRINTERS: Mapping[str, Callable[..., int]] = {"health": print_health, "status": print_status}
"""How the answer to each method of the daemon is printed."""
