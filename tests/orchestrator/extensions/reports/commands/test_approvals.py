"""The command that lists calls which wait for an answer."""

import json
from pathlib import Path

from fakes.control_server import ask, serving

from orchestrator.control import protocol
from orchestrator.control.protocol import (
    ApprovalList,
    ApprovalReport,
    ArgumentMark,
    AskedCallReport,
)

MARK = ArgumentMark(argument="to", source="from the page x.org", decides=True)
ASKED = ApprovalReport(
    code="c0de",
    agent_id="work",
    chat="telegram:7",
    tool="pay",
    arguments='{"sum":3}',
    reason="policy",
    expires=1_770_000_000,
    others=(
        AskedCallReport(tool="mail", arguments='{"to":"eve"}', reason="it acts", sources=(MARK,)),
    ),
)


async def test_question_is_one_row_with_all_of_its_calls_and_sources(tmp_path: Path) -> None:
    """The JSON has them as records."""
    answers = {protocol.APPROVAL_LIST: ApprovalList(approvals=(ASKED,))}
    async with serving(tmp_path, answers):
        listed = await ask(tmp_path, "approvals", "list")
        as_json = await ask(tmp_path, "approvals", "list", "--json")
    shown = " ".join(listed.stdout.split())
    for part in ("c0de", "pay; mail", "from the page x.org", "policy; it acts"):
        assert part in shown
    (item,) = json.loads(as_json.stdout)["approvals"]
    assert item["others"][0]["sources"][0]["source"] == "from the page x.org"
