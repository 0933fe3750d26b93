"""Tests of who may do what on the page."""

import pytest
from pydantic import JsonValue

from orchestrator.control import protocol
from orchestrator.control.roles import ROLES, Right
from orchestrator.extensions.page.daemon_side.page_access import (
    REQUIRED_RIGHTS,
    can_call_method,
    select_audited_fields,
)


@pytest.mark.parametrize("method", REQUIRED_RIGHTS)
def test_an_operator_may_do_all_that_the_page_offers(method: str) -> None:
    """Nothing that has a button is out of reach for the owner."""
    assert can_call_method("operator", method)


@pytest.mark.parametrize(
    ("role", "method", "allowed"),
    [
        ("viewer", protocol.STATUS, True),
        ("viewer", protocol.APPROVAL_DECIDE, False),
        ("approver", protocol.APPROVAL_DECIDE, True),
        ("approver", protocol.AGENT_PAUSE, False),
        ("chat", protocol.STATUS, False),
        ("stranger", protocol.STATUS, False),
        ("operator", "forget", False),
    ],
)
def test_a_role_may_what_its_rights_say(role: str, method: str, *, allowed: bool) -> None:
    """A role or method that is not listed may nothing."""
    assert can_call_method(role, method) is allowed


def test_only_the_operator_reads_texts() -> None:
    """Viewers and approvers see that something happened, not what was said."""
    assert [role for role, rights in ROLES.items() if Right.READ in rights] == ["operator"]


@pytest.mark.parametrize(
    ("role", "given", "allowed"),
    [
        ("approver", "talk", True),
        ("approver", "approve", True),
        ("approver", "operate", False),
        ("approver", None, False),
        ("operator", None, True),
        ("operator", "operate", True),
    ],
)
def test_an_approver_lets_no_operator_in(role: str, given: str | None, *, allowed: bool) -> None:
    """Nor by leaving out what the first chat would be by itself."""
    assert can_call_method(role, protocol.PAIR_APPROVE, {"code": "C", "role": given}) is allowed


@pytest.mark.parametrize(
    "fields",
    [
        {"role": "operate", "Role": "talk"},
        {"Role": "talk"},
        {"_role": "talk"},
        {"role": "talk", "agentId": "native", "agent_id": ""},
        {"role": "talk", "agent_id": "native"},
    ],
)
def test_only_fields_that_count_decide(fields: dict[str, JsonValue]) -> None:
    """A second field of almost the same name is not taken for the one that a method reads."""
    assert not can_call_method("approver", protocol.PAIR_APPROVE, {"code": "C", **fields})


def test_audit_log_has_the_fields_that_count() -> None:
    """Neither a field of almost the same name, nor a key, nor what is no field at all."""
    params: JsonValue = {"role": "operate", "Role": "talk", "chat_id": "9", "value": "v"}
    assert select_audited_fields(params) == {"role": "operate", "chatId": "9"}


def test_audit_log_has_no_token() -> None:
    """One that was pasted into the wrong field is left out."""
    token = "sk-" + "proj-0123456789abcdefghij"
    found = select_audited_fields({"name": token, "account": f"x {token}", "granted": True})
    assert found == {"name": "[secret]", "account": "x [secret]", "granted": True}
