"""System: health, processes with their jails, logins, and the audit log."""

from collections.abc import Sequence

import htpy as h

from orchestrator.control import protocol
from orchestrator.control.protocol import DoctorFindings, HealthReport, StatusReport
from orchestrator.control.roles import Right
from orchestrator.extension import Finding
from orchestrator.extensions.page.html import figures
from orchestrator.extensions.page.html.forms import render_act_button
from orchestrator.extensions.page.html.outside_text import (
    shorten_text,
    show_hidden_characters,
    strip_terminal_codes,
)
from orchestrator.extensions.page.html.parts import render_facts, render_panel
from orchestrator.extensions.page.html.tables import TableColumn, render_table
from orchestrator.extensions.page.reads import waiting, web_sessions
from orchestrator.extensions.page.reads.waiting import AuditEntry
from orchestrator.extensions.page.reads.web_sessions import WebSession
from orchestrator.extensions.page.screen_request import PageScreen, ScreenRequest, ScreenResult
from orchestrator.journal.db import audit

VERDICTS = {"ok": "ok", "warning": "degraded", "problem": "failed"}
ENTRIES = 50  # of the audit log


async def _show_system(request: ScreenRequest) -> ScreenResult:
    sessions = await request.journal(web_sessions.list_sessions, request.now)
    entries = await request.journal(waiting.list_recent_decisions, ENTRIES)
    broken = await request.journal(audit.find_broken_entry)
    if request.daemon is None:
        return [_render_logins(request, sessions), _render_audit_log(request, entries, broken)]
    report = await request.daemon.ask_daemon(protocol.STATUS, None, StatusReport)
    health = await request.daemon.ask_daemon(protocol.HEALTH, None, HealthReport)
    found: DoctorFindings | None = None
    if request.has_right(Right.READ):
        found = await request.daemon.ask_daemon(protocol.EXAMINE, None, DoctorFindings)
    return [
        render_system(request, report, health),
        _render_findings(found.findings) if found else None,
        _render_logins(request, sessions) if request.has_right(Right.CHANGE) else None,
        _render_audit_log(request, entries, broken) if request.has_right(Right.CHANGE) else None,
    ]


def render_system(request: ScreenRequest, report: StatusReport, health: HealthReport) -> h.Node:
    """Render the daemon's state."""
    return [
        render_facts(
            {
                "state": figures.render_state(
                    "running" if health.ready else "failed",
                    "ready" if health.ready else "not ready",
                ),
                "version": report.version,
                "home": report.home,
                "configuration": report.config_file,
                "journal": figures.format_size(report.journal_bytes),
                "time zone": request.zone.key,
            }
        ),
        render_panel(
            "What to look at",
            [h.p(class_="problem")[strip_terminal_codes(reason)] for reason in health.reasons],
            [h.p[strip_terminal_codes(note)] for note in (*health.notes, *report.hints)]
            or h.p[figures.render_state("ok", "nothing")],
            render_act_button(request, protocol.RELOAD, {}, "Read agents.json again")
            if request.has_right(Right.CHANGE)
            else None,
        ),
        _render_nodes(request, report) if report.nodes else None,
        render_panel(
            "Processes",
            render_table(
                "Processes",
                ("Process", TableColumn("Pid", "number"), "Jail, as it found it", ""),
                (
                    (
                        show_hidden_characters(item.name),
                        str(item.pid),
                        _render_jail_level(item.sandbox),
                        strip_terminal_codes(item.reason),
                    )
                    for item in report.processes
                ),
            ),
        ),
    ]


def _render_nodes(request: ScreenRequest, report: StatusReport) -> h.Node:
    return render_panel(
        "Nodes that share the journal",
        render_table(
            "Nodes",
            ("Node", "Address", "", TableColumn("Connected", "time")),
            (
                (
                    show_hidden_characters(one.name),
                    show_hidden_characters(one.address),
                    figures.render_state(
                        *(("running", "works") if one.works else ("ok", "stands by"))
                    ),
                    figures.render_moment(one.since, request.zone),
                )
                for one in report.nodes
            ),
        ),
        h.p(class_="soft")[f"{report.starts} starts of a daemon so far; each takeover is one."],
    )


def _render_findings(found: Sequence[Finding]) -> h.Node:
    order = ("problem", "warning", "ok")
    return render_panel(
        "What the doctor finds",
        render_table(
            "Findings",
            ("", "Subject", "Finding"),
            (
                (
                    figures.render_state(VERDICTS[one.verdict], one.verdict),
                    show_hidden_characters(one.subject),
                    strip_terminal_codes(one.text),
                )
                for one in sorted(found, key=lambda one: order.index(one.verdict))
            ),
        ),
        h.p(class_="soft")[
            "It changes nothing. In a terminal it also tries each jail from inside: ",
            h.code["orchestrator doctor"],
        ],
    )


def _render_jail_level(level: str) -> h.Node:
    kind = {"full": "ok", "off": "failed"}.get(level, "degraded")
    return figures.render_state(kind, level)


def _render_logins(request: ScreenRequest, sessions: Sequence[WebSession]) -> h.Node:
    return render_panel(
        "Who is logged in here",
        render_table(
            "Logins",
            ("Who", "Role", TableColumn("Since", "time"), "Last seen", "Browser"),
            (
                (
                    show_hidden_characters(one.user),
                    one.role,
                    figures.render_moment(one.made_at, request.zone),
                    figures.format_age(one.last_at, request.now),
                    shorten_text(one.label or "", 80),
                )
                for one in sessions
            ),
        ),
        h.p(class_="soft")[
            "To end one: ",
            h.code["orchestrator dashboard revoke NAME"],
            ". To let someone in: ",
            h.code["orchestrator dashboard invite NAME --role viewer"],
        ],
    )


def _render_audit_log(
    request: ScreenRequest, entries: Sequence[AuditEntry], broken: int | None
) -> h.Node:
    chain = (
        figures.render_state("ok", "the chain of its entries is intact")
        if broken is None
        else figures.render_state("failed", f"entry {broken} was changed")
    )
    return render_panel(
        "Audit log",
        h.p[chain],
        render_table(
            "Audit log",
            (TableColumn("When", "time"), "Who", "What", "Of what"),
            (
                (
                    figures.render_moment(one.at, request.zone),
                    show_hidden_characters(one.actor),
                    show_hidden_characters(one.act),
                    shorten_text(one.subject, 80),
                )
                for one in entries
            ),
            "The audit log is empty.",
        ),
    )


SCREENS = (PageScreen("/system", "System", Right.LOOK, _show_system, "System"),)
