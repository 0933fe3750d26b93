"""System: whether all is well, the processes with their jails, who is logged in, the audit log."""

from collections.abc import Sequence

import htpy as h

from orchestrator.control import protocol
from orchestrator.control.page_access import Right
from orchestrator.control.protocol import HealthReport, StatusReport
from orchestrator.doctor.findings import DoctorFindings, Finding
from orchestrator.journal.access import web_sessions
from orchestrator.journal.access.web_sessions import WebSession
from orchestrator.journal.db import audit
from orchestrator.journal.inspect import waiting
from orchestrator.journal.inspect.waiting import AuditEntry
from orchestrator.page.html import figures
from orchestrator.page.html.forms import act
from orchestrator.page.html.outside_text import plain, short, visible
from orchestrator.page.html.tables import facts, panel, table
from orchestrator.page.visit import Screen, Shown, Visit

VERDICTS = {"ok": "ok", "warning": "degraded", "problem": "failed"}
ENTRIES = 50  # of the audit log


async def _body(visit: Visit) -> Shown:
    sessions = await visit.journal(web_sessions.every, visit.now)
    entries = await visit.journal(waiting.decided, ENTRIES)
    broken = await visit.journal(audit.verify)
    if visit.daemon is None:
        return [_logins(visit, sessions), _audit(visit, entries, broken)]
    report = await visit.daemon.ask(protocol.STATUS, None, StatusReport)
    health = await visit.daemon.ask(protocol.HEALTH, None, HealthReport)
    found: DoctorFindings | None = None
    if visit.may(Right.READ):
        found = await visit.daemon.ask(protocol.EXAMINE, None, DoctorFindings)
    return [
        draw(visit, report, health),
        _findings(found.findings) if found else None,
        _logins(visit, sessions) if visit.may(Right.CHANGE) else None,
        _audit(visit, entries, broken) if visit.may(Right.CHANGE) else None,
    ]


def draw(visit: Visit, report: StatusReport, health: HealthReport) -> h.Node:
    """Draw what the daemon says of itself."""
    return [
        facts(
            {
                "state": figures.state(
                    "running" if health.ready else "failed",
                    "ready" if health.ready else "not ready",
                ),
                "version": report.version,
                "home": report.home,
                "configuration": report.config_file,
                "journal": figures.size(report.journal_bytes),
                "time zone": visit.zone.key,
            }
        ),
        panel(
            "What to look at",
            [h.p(class_="problem")[plain(reason)] for reason in health.reasons],
            [h.p[plain(note)] for note in (*health.notes, *report.hints)]
            or h.p[figures.state("ok", "nothing")],
            act(visit, protocol.RELOAD, {}, "Read agents.json again")
            if visit.may(Right.CHANGE)
            else None,
        ),
        _nodes(visit, report) if report.nodes else None,
        panel(
            "Processes",
            table(
                "Processes",
                ("Process", "#Pid", "Jail, as it found it", ""),
                (
                    (
                        visible(item.name),
                        str(item.pid),
                        _jail(item.sandbox),
                        plain(item.reason),
                    )
                    for item in report.processes
                ),
            ),
        ),
    ]


def _nodes(visit: Visit, report: StatusReport) -> h.Node:
    return panel(
        "Nodes that share the journal",
        table(
            "Nodes",
            ("Node", "Address", "", "Connected"),
            (
                (
                    visible(one.name),
                    visible(one.address),
                    figures.state(*(("running", "works") if one.works else ("ok", "stands by"))),
                    figures.moment(one.since, visit.zone),
                )
                for one in report.nodes
            ),
        ),
        h.p(class_="soft")[f"{report.starts} starts of a daemon so far; each takeover is one."],
    )


def _findings(found: Sequence[Finding]) -> h.Node:
    order = ("problem", "warning", "ok")
    return panel(
        "What the doctor finds",
        table(
            "Findings",
            ("", "Subject", "Finding"),
            (
                (
                    figures.state(VERDICTS[one.verdict], one.verdict),
                    visible(one.subject),
                    plain(one.text),
                )
                for one in sorted(found, key=lambda one: order.index(one.verdict))
            ),
        ),
        h.p(class_="soft")[
            "It changes nothing. In a terminal it also tries each jail from inside: ",
            h.code["orchestrator doctor"],
        ],
    )


def _jail(level: str) -> h.Node:
    kind = {"full": "ok", "off": "failed"}.get(level, "degraded")
    return figures.state(kind, level)


def _logins(visit: Visit, sessions: Sequence[WebSession]) -> h.Node:
    return panel(
        "Who is logged in here",
        table(
            "Logins",
            ("Who", "Role", "Since", "Last seen", "Browser"),
            (
                (
                    visible(one.user),
                    one.role,
                    figures.moment(one.made_at, visit.zone),
                    figures.ago(one.last_at, visit.now),
                    short(one.label or "", 80),
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


def _audit(visit: Visit, entries: Sequence[AuditEntry], broken: int | None) -> h.Node:
    chain = (
        figures.state("ok", "the chain of its entries is unbroken")
        if broken is None
        else figures.state("failed", f"entry {broken} was changed")
    )
    return panel(
        "Audit log",
        h.p[chain],
        table(
            "Audit log",
            ("When", "Who", "What", "Of what"),
            (
                (
                    figures.moment(one.at, visit.zone),
                    visible(one.actor),
                    visible(one.act),
                    short(one.subject, 80),
                )
                for one in entries
            ),
            "It is empty.",
        ),
    )


SCREENS = (Screen("/system", "System", Right.LOOK, _body, "System"),)
