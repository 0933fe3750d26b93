"""Pins of MCP tools: first sight, change, return, approval."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from fakes.journal import job, opened

from orchestrator.errors import OrchestratorError
from orchestrator.journal.access import tool_pins
from orchestrator.journal.access.tool_pins import FIRST_SIGHT, Pin
from orchestrator.journal.db import audit
from orchestrator.journal.db.database import Database


def seen(
    db: Database, listed: Mapping[str, str], server: str = "files"
) -> tuple[set[str], list[str]]:
    """What is believed of a server's list, and what has just changed."""
    with job(db):
        believed, changed = tool_pins.compare_with_pins(db, server, listed, 5)
    return set(believed), changed


def test_first_sight_is_believed_and_kept(tmp_path: Path) -> None:
    """Also a tool that a known server adds later; each server has its own tools."""
    with opened(tmp_path) as db:
        assert seen(db, {"read": "a"}) == ({"a"}, [])
        assert seen(db, {"read": "a", "write": "b"}) == ({"a", "b"}, [])
        assert seen(db, {"read": "c"}, "wiki") == ({"c"}, [])
        first, *others = tool_pins.list_pins(db)
    assert first == Pin("files", "read", changed=False, by=FIRST_SIGHT, at=5)
    assert [pin.name for pin in others] == ["files/write", "wiki/read"]


def test_changed_tool_is_told_of_once_for_each_change_until_it_is_as_it_was(tmp_path: Path) -> None:
    """A tool that went away and came back changed has changed as well."""
    with opened(tmp_path) as db:
        seen(db, {"read": "a", "write": "b"})
        seen(db, {"read": "a"})
        assert seen(db, {"read": "a", "write": "x"}) == ({"a"}, ["write"])
        assert seen(db, {"read": "a", "write": "x"}) == ({"a"}, [])
        assert seen(db, {"read": "a", "write": "y"}) == ({"a"}, ["write"])
        assert seen(db, {"read": "a", "write": "b"}) == ({"a", "b"}, [])
        assert [pin.changed for pin in tool_pins.list_pins(db)] == [False, False]
        acts = db.execute("SELECT actor, act, object FROM audit").fetchall()
    assert acts == [("pins", "withheld a tool that changed", "files/write")] * 2


def test_approval_is_for_what_the_server_says_now(tmp_path: Path) -> None:
    """One tool or all of a server; the next change has to be approved again."""
    with opened(tmp_path) as db:
        seen(db, {"read": "a", "write": "b", "list": "c"})
        seen(db, {"read": "x", "write": "y", "list": "c"})
        with job(db):
            assert tool_pins.approve_tools(db, "files/read", "operator", 9) == ["files/read"]
        assert seen(db, {"read": "x", "write": "y", "list": "c"}) == ({"x", "c"}, [])
        with job(db):
            assert tool_pins.approve_tools(db, "files", "operator", 9) == ["files/write"]
        assert seen(db, {"read": "z", "write": "y", "list": "c"}) == ({"y", "c"}, ["read"])
        assert [pin.by for pin in tool_pins.list_pins(db)] == [FIRST_SIGHT, "operator", "operator"]
        assert audit.find_broken_entry(db) is None


def test_tool_that_changed_since_it_was_looked_at_is_not_approved(tmp_path: Path) -> None:
    """The digest says which version was looked at."""
    with opened(tmp_path) as db:
        seen(db, {"read": "a"})
        seen(db, {"read": "y"})
        with pytest.raises(OrchestratorError, match="changed again"), job(db):
            tool_pins.approve_tools(db, "files/read", "operator", 9, seen="x")
        assert [pin.changed for pin in tool_pins.list_pins(db)] == [True]
        with job(db):
            tool_pins.approve_tools(db, "files/read", "operator", 9, seen="y")
        assert [pin.changed for pin in tool_pins.list_pins(db)] == [False]


def test_what_has_not_changed_cannot_be_approved(tmp_path: Path) -> None:
    """The message says where to look."""
    with opened(tmp_path) as db, job(db):
        tool_pins.compare_with_pins(db, "files", {"read": "a"}, 5)
        with pytest.raises(OrchestratorError, match="see 'orchestrator tools list'"):
            tool_pins.approve_tools(db, "files/read", "operator", 9)


def test_tool_that_came_later_is_fresh_until_it_is_approved(tmp_path: Path) -> None:
    """Its description is no longer what the operator saw when the server was added."""
    with opened(tmp_path) as db:
        seen(db, {"read": "a"})
        seen(db, {"read": "a", "write": "b"})
        assert tool_pins.list_unapproved_tools(db, "files") == ["write"]
        with job(db):
            assert tool_pins.approve_tools(db, "files/write", "you", 6) == ["files/write"]
        assert tool_pins.list_unapproved_tools(db, "files") == []
        assert seen(db, {"read": "a", "write": "b"}) == ({"a", "b"}, [])
