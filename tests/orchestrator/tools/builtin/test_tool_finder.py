"""Tools that are offered on demand are found by the model."""

from dataclasses import replace

import pytest
from fakes.tool_call import run

from orchestrator.journal.db.database import Database
from orchestrator.tools.builtin.host_tool import ToolContext, ToolFailure, build_tool_spec
from orchestrator.tools.builtin.tool_finder import find_tools

SHIP = build_tool_spec("sail_ship", "Sail a ship.", {}, keywords="harbour")


def test_words_that_no_tool_has_are_an_answer_to_the_model(
    db: Database, context: ToolContext
) -> None:
    """Also where the agent's tools are unknown."""
    for tools in (None, (SHIP,)):
        with pytest.raises(ToolFailure, match="no tool fits"):
            run(find_tools, db, replace(context, offered=tools), names="zzz")


def test_tool_is_found_by_its_name_or_by_words_of_its_description(
    db: Database, context: ToolContext
) -> None:
    """Among the tools that the agent is offered."""
    for words in ("sail_ship", "a ship"):
        assert "sail_ship" in run(find_tools, db, replace(context, offered=(SHIP,)), names=words)
