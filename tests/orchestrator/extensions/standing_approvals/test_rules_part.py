"""Commands and the page make, list and end approvals that stand in a daemon."""

from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from fakes.journal import connection_in, job, open_turn, planned, store_in
from pydantic import ValidationError

from orchestrator.control.protocol import UNKNOWN_NAME
from orchestrator.extensions.standing_approvals.rules_part import (
    RULES_ADD,
    RULES_LIST,
    RULES_REVOKE,
    RuleList,
    RulesPart,
)
from orchestrator.journal.turns import approvals
from orchestrator.journal.turns.approvals import QuestionDetails
from orchestrator.wakeup import Wakeup
from thinker.protocol.messages import JsonObject
from thinker.protocol.peer import RpcError

NOW = 1_770_000_000_000


async def test_rule_is_made_listed_and_ended_by_its_author(tmp_path: Path) -> None:
    """What cannot be done is told, with the exit code of an unknown name where it is one."""
    with closing(store_in(tmp_path)) as store, closing(connection_in(tmp_path)) as db:
        open_turn(db)
        (call,) = planned(db, "t1", "pay", arguments={"n": 1})
        details = QuestionDetails({"n": ("model", "", True)}, may_stand=True)
        with job(db):
            approvals.request_approval(db, call, "why", "c0de", NOW, details)
        daemon: Any = SimpleNamespace(
            store=store,
            machine=SimpleNamespace(clock=lambda: NOW),
            delivery=Wakeup(),
            approvals=Wakeup(),
        )
        part = RulesPart(daemon)
        changes, reads = part.list_authored_methods("web:ann"), part.list_control_methods(None)
        with pytest.raises(ValidationError):
            await changes[RULES_ADD]({"code": "c0de", "days": 366})
        made = await changes[RULES_ADD]({"code": "c0de", "scope": "recipient"})
        found = await reads[RULES_LIST](None)
        assert isinstance(found, RuleList)
        assert made == found
        (rule,) = found.rules
        assert (rule.by, rule.tool, rule.chat, rule.used) == ("web:ann", "pay", "telegram:7", 0)
        await changes[RULES_REVOKE]({"id": rule.id})
        assert await reads[RULES_LIST](None) == RuleList(rules=())
        wrong: tuple[tuple[str, JsonObject], ...]
        wrong = (RULES_ADD, {"code": "c0de"}), (RULES_REVOKE, {"id": 1})
        for method, params in wrong:
            with pytest.raises(RpcError) as refused:
                await changes[method](params)
            assert refused.value.code == UNKNOWN_NAME
