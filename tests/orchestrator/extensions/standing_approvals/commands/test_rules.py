"""The command for approvals that stand."""

from pathlib import Path

from fakes.control_server import ask, serving

from orchestrator.errors import ExitCode
from orchestrator.extensions.standing_approvals.rules_part import (
    RULES_ADD,
    RULES_LIST,
    RULES_REVOKE,
    RuleList,
    RuleReport,
)

RULE = RuleReport(
    id=3,
    agent_id="work",
    tool="pay",
    chat="telegram:7",
    text="work may call pay in telegram:7 until 2026-03-04",
    by="operator",
    made_at=1_770_000_000,
    ends_at=1_772_592_000,
    used=2,
)


async def test_rules_are_listed_made_and_ended(tmp_path: Path) -> None:
    """Options go to the daemon; a rule of more than a year does not."""
    found = RuleList(rules=(RULE,))
    answers = {RULES_LIST: found, RULES_ADD: found, RULES_REVOKE: found}
    async with serving(tmp_path, answers) as server:
        listed = await ask(tmp_path, "rules", "list")
        as_json = await ask(tmp_path, "rules", "list", "--json")
        added = await ask(tmp_path, "rules", "add", "c0de", "--for", "tool", "--days", "7")
        ended = await ask(tmp_path, "rules", "revoke", "3")
        wrong = await ask(tmp_path, "rules", "add", "c0de", "--days", "366")
        (order,) = server.params(RULES_ADD)
        assert server.params(RULES_REVOKE) == [{"id": 3}]
    assert "work may call pay" in listed.stdout
    assert '"used": 2' in as_json.stdout
    assert added.stdout == "3: work may call pay in telegram:7 until 2026-03-04\n"
    assert ended.stdout == "ended: work may call pay in telegram:7 until 2026-03-04\n"
    assert isinstance(order, dict)
    assert (order["code"], order["scope"], order["days"]) == ("c0de", "tool", 7)
    assert wrong.exit_code != ExitCode.OK
