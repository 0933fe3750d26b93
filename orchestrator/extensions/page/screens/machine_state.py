"""System: health, processes with their jails, and the audit log."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import htpy as h

from orchestrator.control import protocol
from orchestrator.control.protocol import DoctorFindings, HealthReport, StatusReport
from orchestrator.control.roles import Right
from orchestrator.extension import Finding
from orchestrator.extensions.page.daemon_side import page_protocol
from orchestrator.extensions.page.daemon_side.page_protocol import (
    ProcessFigures,
    ProcessNumbers,
    ProcessTable,
)
from orchestrator.extensions.page.html import figures
from orchestrator.extensions.page.html.forms import (
    render_act_button,
    render_hidden_fields,
)
from orchestrator.extensions.page.html.outside_text import (
    shorten_text,
    show_hidden_characters,
    strip_terminal_codes,
)
from orchestrator.extensions.page.html.tables import TableColumn, render_table
from orchestrator.extensions.page.html.vocabulary import (
    NoteKind,
    render_facts,
    render_link_button,
    render_panel,
)
from orchestrator.extensions.page.reads import decision_log
from orchestrator.extensions.page.reads.decision_log import AuditEntry
from orchestrator.extensions.page.screen_request import (
    PageScreen,
    ScreenRequest,
    ScreenResult,
    TitledContent,
)
from orchestrator.extensions.page.screens.decision_words import describe_decision
from orchestrator.extensions.page.screens.remedies import (
    list_hints,
    list_troubles,
    render_trouble,
    render_troubles,
)
from orchestrator.extensions.page.screens.settings_form import render_named_button
from orchestrator.extensions.page.screens.tool_overview import describe_jail
from orchestrator.journal.db import audit

NOTES: Mapping[str, NoteKind] = {"problem": "bad", "warning": "warn"}  # by the doctor's verdict
ENTRIES = 50  # of the audit log
SUPERVISOR = "supervisor"
# Processes whose jails are as they have to be.
OPEN_JAILS = {
    SUPERVISOR: "it owns the home, and is kept from nothing there",
    "zygote": "it has no keys; it starts the agents, which then lock themselves in",
}


class AuditLog(NamedTuple):
    """The newest entries, and the first one that was changed later, if any."""

    entries: Sequence[AuditEntry]
    broken: int | None


async def _show_system(request: ScreenRequest) -> ScreenResult:
    log = AuditLog(
        await request.journal(decision_log.list_recent_decisions, ENTRIES),
        await request.journal(audit.find_broken_entry),
    )
    shown_log = _render_audit_log(request, log) if request.has_right(Right.CHANGE) else None
    if request.daemon is None:
        return TitledContent("System", shown_log, lead="A journal without a daemon")
    report = await request.daemon.ask_daemon(protocol.STATUS, None, StatusReport)
    health = await request.daemon.ask_daemon(protocol.HEALTH, None, HealthReport)
    asked = ProcessNumbers(pids=tuple(one.pid for one in report.processes))
    table = await request.daemon.ask_daemon(page_protocol.PROCESS_LIST, asked, ProcessTable)
    reasons = [render_trouble(request, reason, "bad") for reason in health.reasons]
    checks: h.Node = None
    if request.has_right(Right.READ):
        found = await request.daemon.ask_daemon(protocol.EXAMINE, None, DoctorFindings)
        troubles = render_troubles([*reasons, *_list_findings(request, found.findings)])
        checks = _render_good_checks(found.findings)
    else:
        troubles = render_troubles([*reasons, *list_troubles(request, report)])
    content = [
        troubles,
        render_system(request, report, table.processes),
        checks,
        shown_log,
    ]
    ready = ("running", "ready") if health.ready else ("failed", "not ready")
    lead: h.Node = [figures.render_state(*ready), f" · version {report.version}"]
    return TitledContent(
        "System",
        content,
        lead=lead,
        actions=[render_orders(request), render_link_button("Logins", "/people")]
        if request.has_right(Right.CHANGE)
        else None,
    )


def render_system(
    request: ScreenRequest, report: StatusReport, processes: Sequence[ProcessFigures] = ()
) -> h.Node:
    """Render the daemon's state."""
    return [
        render_panel(
            "The daemon",
            render_facts(
                {
                    "Home": report.home,
                    "Configuration": report.config_file,
                    "Journal": figures.format_size(report.journal_bytes),
                    "Times of this page": request.zone.key,
                    "Memory": _sum_memory(processes),
                    "Runs since": _render_age(request, report, processes),
                }
            ),
        ),
        _render_nodes(request, report) if report.nodes else None,
        render_panel("Processes", _render_processes(report, processes)),
    ]


def render_orders(request: ScreenRequest) -> h.Node:
    """Render what one may do with the daemon; Settings answers, and a restart asks first."""
    return [
        h.form(method="post", action="/settings", class_="row")[
            render_hidden_fields(request), render_named_button("backup", "Back up now")
        ],
        render_act_button(request, protocol.RELOAD, {}, "Read agents.json again"),
        h.details[
            h.summary(class_="button danger")["Restart …"],
            h.form(method="post", action="/settings", class_="row")[
                render_hidden_fields(request),
                h.span(class_="soft")["The page is away for some seconds."],
                render_named_button("restart", "Restart now", "danger"),
            ],
        ],
    ]


def _sum_memory(processes: Sequence[ProcessFigures]) -> str | None:
    whole = sum(one.memory_bytes for one in processes)
    return f"{figures.format_size(whole)} of {len(processes)} processes" if processes else None


def _render_age(
    request: ScreenRequest, report: StatusReport, processes: Sequence[ProcessFigures]
) -> h.Node:
    """Render since when the daemon runs: a restart keeps the process, but starts a new zygote."""
    pids = {one.pid for one in report.processes if one.name in OPEN_JAILS}
    ages = [1000 * one.age_seconds for one in processes if one.pid in pids]
    if not ages:
        return None
    began = figures.render_recent_moment(round(request.now - min(ages)), request.zone, request.now)
    return [began, f" ({figures.format_span(min(ages), rough=True)})"]


def _render_processes(report: StatusReport, processes: Sequence[ProcessFigures]) -> h.Node:
    measured = {one.pid: one for one in processes}
    return render_table(
        "Processes",
        (
            TableColumn("Process", "id"),
            TableColumn("Number", "number"),
            TableColumn("Memory", "number"),
            TableColumn("Processor", "number"),
            TableColumn("Runs for", "number"),
            TableColumn("Its jail", "grow"),
        ),
        (
            (
                h.b[show_hidden_characters(item.name)],
                str(item.pid),
                *_list_figures(measured.get(item.pid)),
                _render_jail(item),
            )
            for item in report.processes
        ),
    )


def _list_figures(found: ProcessFigures | None) -> Sequence[h.Node]:
    if found is None:
        return ("", "", "")
    share = 100 * found.cpu_seconds / max(1.0, found.age_seconds)
    spent = f"{figures.format_span(1000 * found.cpu_seconds)} in all"
    return (
        figures.format_size(found.memory_bytes),
        h.span(title=spent)[f"{share:.1f} %"],
        figures.format_span(1000 * found.age_seconds, rough=True),
    )


def _render_jail(item: protocol.ProcessReport) -> h.Node:
    """Render the jail of a process."""
    words = describe_jail(item.sandbox, item.reason)
    if item.name in OPEN_JAILS and item.sandbox != "off":
        return figures.render_state("ok", OPEN_JAILS[item.name])
    if item.name == SUPERVISOR:
        return h.span(class_="soft")[OPEN_JAILS[SUPERVISOR]]
    kind = {"full": "ok", "off": "failed"}.get(item.sandbox, "degraded")
    return figures.render_state(kind, words)


def _render_nodes(request: ScreenRequest, report: StatusReport) -> h.Node:
    return render_panel(
        "Nodes that share the journal",
        render_table(
            "Nodes",
            (
                "Node",
                TableColumn("Address", "grow"),
                "State",
                TableColumn("Groups of agents", "number"),
                TableColumn("Connected", "time"),
            ),
            (
                (
                    show_hidden_characters(one.name),
                    show_hidden_characters(one.address),
                    figures.render_state(
                        *(("running", "works") if one.works else ("ok", "stands by"))
                    ),
                    str(one.groups),
                    figures.render_moment(one.since, request.zone),
                )
                for one in report.nodes
            ),
        ),
        h.p(class_="soft")[
            f"{figures.format_plural(report.starts, 'start')} of a daemon so far;"
            " each takeover is one."
        ],
    )


def _list_findings(request: ScreenRequest, found: Sequence[Finding]) -> Iterator[h.Node]:
    """Yield what the doctor found wrong, problems first."""
    for verdict, kind in NOTES.items():
        about = [
            one.text if one.subject == "daemon" else f"{one.subject}: {one.text}"
            for one in found
            if one.verdict == verdict
        ]
        yield from list_hints(request, about, kind)


def _render_good_checks(found: Sequence[Finding]) -> h.Node:
    good = [one for one in found if one.verdict not in NOTES]
    rows = ((show_hidden_characters(one.subject), strip_terminal_codes(one.text)) for one in good)
    return render_panel(
        "Checks",
        h.details[
            h.summary[figures.render_state("ok", f"{len(good)} checks passed")],
            render_table("Checks", ("Subject", TableColumn("Finding", "grow")), rows),
        ],
        h.p(class_="soft")[
            "In a terminal the doctor also tries each jail from inside: ",
            h.code["orchestrator doctor"],
        ],
    )


def _render_audit_log(request: ScreenRequest, log: AuditLog) -> h.Node:
    chain = (
        figures.render_state("ok", "the chain of its entries is intact")
        if log.broken is None
        else figures.render_state("failed", f"entry {log.broken} was changed")
    )
    return render_panel(
        "Audit log",
        render_table(
            "Audit log",
            (TableColumn("When", "time"), "Who", TableColumn("What", "grow"), "Entry"),
            (
                (
                    figures.render_recent_moment(one.at, request.zone, request.now),
                    show_hidden_characters(one.actor),
                    describe_decision(one),
                    h.small(class_="soft clip")[
                        f"{show_hidden_characters(one.act)} {shorten_text(one.subject, 120)}"
                    ],
                )
                for one in log.entries
            ),
            "The audit log is empty.",
        ),
        actions=chain,
    )


SCREENS = (PageScreen("/system", "System", Right.LOOK, _show_system, "System"),)
