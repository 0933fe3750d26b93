"""Tests of who may do what on the page."""

import pytest

from orchestrator.control import protocol
from orchestrator.control.roles import ROLES, Right
from orchestrator.extensions.page.daemon_side.page_access import REQUIRED_RIGHTS, can_call_method


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
