"""Report the daemon's state to its operator: whether it is ready, and everything that runs."""

import fnmatch
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress

import anyio
from pydantic import JsonValue

from orchestrator import __version__
from orchestrator.control import protocol, status, tool_advice
from orchestrator.control.agent_choice import choose_slots, list_uses, report_agents
from orchestrator.control.agent_report import StatusRequest, WorkerCounts
from orchestrator.control.operations import DaemonOperations
from orchestrator.control.protocol import HealthReport, StatusReport
from orchestrator.errors import JournalError
from orchestrator.journal.db import liveness
from orchestrator.journal.db.database import Database
from orchestrator.journal.inspect import recent_turns
from orchestrator.journal.memory import playbooks
from orchestrator.journal.turns import handoffs, pauses, turns
from orchestrator.journal.turns.degradations import list_recent_degradations
from orchestrator.processes.supervisor import Supervisor
from orchestrator.spending.budgets import SHARED
from thinker.protocol.names import format_chat_name

MAX_RECENT = 5  # turns shown
READ_TIMEOUT = 15.0  # seconds for reading the journal; a database may be away
MAX_TROUBLES = 50  # agents whose troubles are told
MAX_CHECKED = 50  # newest turns whose missing tools are reported
CHANGED = (
    "the MCP server of {tool} changed its description, so it is not offered; check it, then run:"
    " orchestrator tools approve {name}"
)
HANDED_OVER = "chat {chat} is handed over: agent '{new}' answers it instead of '{old}'"


async def report_status(
    daemon: DaemonOperations, proof_age: float = 0.0, params: JsonValue = None
) -> StatusReport:
    """Report the state; the journal was written at most ``proof_age`` seconds ago.

    ``params`` are those of a `StatusRequest`.
    """
    request = StatusRequest.model_validate(params or {})
    health = await _judge_health(daemon, proof_age)
    try:
        with anyio.fail_after(READ_TIMEOUT):
            counts, open_turns, newest, paused, starts = await daemon.store.read(
                _load_journal_figures
            )
            sharing = await daemon.store.sharing()
            handed = await daemon.store.transact(handoffs.list_handoffs)
            spent = await daemon.store.transact(daemon.guard.build_rules().list_budgets)
            asked = await daemon.store.transact(status.list_awaited_decisions, daemon.clock())
            missing = await daemon.store.transact(playbooks.list_missing_tools, MAX_CHECKED)
            lacking = await daemon.store.read(list_recent_degradations, daemon.clock())
            less = tuple(f"agent '{one.agent_id}' answers {one}" for one in lacking)
            slots = daemon.supervisor.slots
            matching = [slots[name] for name in fnmatch.filter(slots, request.agents)]
            chosen = choose_slots(
                matching, request.most, {*paused, *(one.agent_id for one in lacking)}
            )
            agents = await report_agents(daemon.configuration, chosen, paused, spent, lacking)
    except TimeoutError as error:
        reasons = "; ".join(health.reasons) or "the journal does not answer"
        raise JournalError(f"not ready: {reasons}") from error
    return StatusReport(
        ready=health.ready,
        version=__version__,
        home=str(daemon.settings.home),
        config_file=str(daemon.configuration.path),
        journal=str(daemon.store.address),
        journal_bytes=daemon.store.measure_size(),
        nodes=sharing,
        starts=starts,
        agents=agents,
        agent_states=Counter(slot.history.state for slot in slots.values()),
        agents_left_out=len(matching) - len(agents),
        workers=WorkerCounts.from_object(daemon.supervisor.places),
        budgets=tuple(list_uses(spent[SHARED])),
        channels=tuple(
            protocol.ChannelReport.from_object(adapter.status)
            for adapter in status.list_used_adapters(daemon.adapters.values())
        ),
        tool_servers=tuple(
            protocol.ToolServerReport.from_object(
                server,
                tools=len(server.tools),
                sandbox=server.sandbox.level if server.sandbox else "",
                sandbox_reason=server.sandbox.reason if server.sandbox else "",
            )
            for server in daemon.servers.list_states()
        ),
        config_errors=daemon.configuration.problems,
        processes=tuple(status.list_processes(daemon.supervisor, daemon.servers, daemon.others())),
        broker=_report_broker(daemon.supervisor),
        open_turns=open_turns,
        inbox=counts,
        recent_turns=newest,
        notes=(*health.notes, *less),
        hints=(*_list_hints(daemon, health, handed, missing), *asked, *less),
    )


def _list_hints(
    daemon: DaemonOperations,
    health: HealthReport,
    handed: Iterable[handoffs.Handoff],
    missing: Iterable[tuple[str, str, str]],
) -> Iterator[str]:
    """Yield the hints for the operator; ``missing`` has agents, playbooks and tools."""
    for reason in health.reasons:
        yield f"not ready: {reason}"
    yield from health.notes
    yield from status.list_hints(daemon.configuration, daemon.supervisor)
    channels = (adapter.status for adapter in daemon.adapters.values())
    yield from status.list_unheard_groups(daemon.configuration.file, channels)
    for server in daemon.servers.list_states():
        yield from (f"MCP server '{server.name}': {note}" for note in server.notes)
    for tool, name in daemon.servers.list_withheld_tools().items():
        yield CHANGED.format(tool=tool, name=name)
    for one in handed:
        chat = format_chat_name(one.chat_key)
        yield HANDED_OVER.format(chat=chat, new=one.agent_id, old=one.routed_id)
    known = daemon.configuration.prompts.current_set.host_tools
    yield from tool_advice.list_missing_tools(daemon.configuration.file, known, missing)


async def report_health(daemon: DaemonOperations, proof_age: float = 0.0) -> HealthReport:
    """Report whether the daemon is ready; notes name every other problem."""
    found = await _judge_health(daemon, proof_age)
    paused: dict[str, str] = {}
    with suppress(JournalError), anyio.move_on_after(READ_TIMEOUT):
        paused = await daemon.store.read(pauses.describe_pauses)
    slots = daemon.supervisor.slots.values()
    wrong = choose_slots(slots, MAX_TROUBLES, paused.keys(), only_troubled=True)
    agents = await report_agents(daemon.configuration, wrong, paused)
    troubles = status.list_troubles(agents, daemon.servers.list_states())
    problems = map(str, daemon.configuration.problems)
    return found.model_copy(update={"notes": (*found.notes, *troubles, *problems)})


async def _judge_health(daemon: DaemonOperations, proof_age: float) -> HealthReport:
    found = await status.check_health(
        daemon.store,
        daemon.adapters.values(),
        daemon.clock() / 1000,
        admitting=daemon.dispatcher.opener.admitting,
        faults=daemon.faults(),
        holds=daemon.flood.list_holds(anyio.current_time()),
        proof_age=proof_age,
    )
    return found.model_copy(update={"notes": (*found.notes, *daemon.notes())})


def _load_journal_figures(
    db: Database,
) -> tuple[dict[str, int], int, tuple[protocol.RecentTurn, ...], dict[str, str], int]:
    newest = tuple(
        protocol.RecentTurn.from_object(turn, turn_id=turn.id, chat=format_chat_name(turn.chat_key))
        for turn in recent_turns.list_recent_turns(db, MAX_RECENT)
    )
    return (
        recent_turns.count_messages_by_state(db),
        turns.count_open_turns(db),
        newest,
        pauses.describe_pauses(db),
        liveness.count_starts(db),
    )


def _report_broker(supervisor: Supervisor) -> protocol.BrokerReport | None:
    if supervisor.broker is None:
        return None
    history, child = supervisor.broker.history, supervisor.broker.child
    return protocol.BrokerReport(
        state=history.state,
        pid=None if child is None else child.pid,
        restarts=history.restarts,
        reason="" if child is not None else history.reason,
    )
