"""``orchestrator rules``: approvals that stand."""

import time
from functools import partial
from typing import Annotated

import typer

from orchestrator.cli.client import ask_daemon
from orchestrator.cli.commands import make_command_group
from orchestrator.cli.direct_journal import ask_or_read
from orchestrator.cli.options import AsJson, Home, load_settings
from orchestrator.cli.output import format_minute, print_text
from orchestrator.cli.tables import Columns, print_listing
from orchestrator.extensions.standing_approvals.call_rules import DAYS, MAX_DAYS
from orchestrator.extensions.standing_approvals.rule_conditions import Scope
from orchestrator.extensions.standing_approvals.rules_part import (
    RULES_ADD,
    RULES_LIST,
    RULES_REVOKE,
    NewRules,
    RuleList,
    RuleNumber,
    report_rules,
)

COLUMNS: Columns = {
    "id": "id",
    "allowed": "text",
    "used": "used",
    "by": "by",
    "until (UTC)": lambda rule: format_minute(rule.ends_at),
}
app = make_command_group("rules")


@app.command("list")
def list_rules(*, as_json: AsJson = False, home: Home = None) -> None:
    """List the approvals that stand."""
    found = ask_or_read(
        load_settings(home),
        RULES_LIST,
        RuleList,
        partial(report_rules, now=time.time_ns() // 1_000_000),
    )
    print_listing(
        "Rules", found.rules, COLUMNS, key="rules", empty="no approval stands", as_json=as_json
    )


@app.command()
def add(
    code: Annotated[
        str, typer.Argument(metavar="CODE", help="The code of an open question; it is granted.")
    ],
    *,
    scope: Annotated[
        Scope | None,
        typer.Option("--for", help="What is allowed: calls with the same recipient, or any."),
    ] = None,
    days: Annotated[int, typer.Option(min=1, max=MAX_DAYS, help="Until the end.")] = DAYS,
    every_chat: Annotated[bool, typer.Option(help="Not in its own chat alone.")] = False,
    home: Home = None,
) -> None:
    """Grant a question, and from now on all calls like its own."""
    asked = NewRules(code=code, scope=scope, days=days, every_chat=every_chat)
    for rule in ask_daemon(load_settings(home), RULES_ADD, asked, RuleList).rules:
        print_text(f"{rule.id}: {rule.text}")


@app.command()
def revoke(
    number: Annotated[int, typer.Argument(metavar="ID", help="As the list shows it.", min=0)],
    *,
    home: Home = None,
) -> None:
    """End an approval that stands; calls that it has let run stay."""
    asked = RuleNumber(id=number)
    for rule in ask_daemon(load_settings(home), RULES_REVOKE, asked, RuleList).rules:
        print_text(f"ended: {rule.text}")
