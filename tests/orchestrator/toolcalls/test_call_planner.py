"""What is stored of a step's calls, whatever an agent's process says."""

import json
from pathlib import Path

import pytest
from fakes.agents_file import WORK, parsed
from fakes.definition_files import MCP, library, write
from fakes.journal import job, open_turn, opened, step

from orchestrator.toolcalls.call_planner import CallPlanner
from thinker.protocol.messages import JsonObject


@pytest.mark.parametrize("told", [{}, {"key": "${OTHER}", "path": "a"}, {"key": "x", "deep": 1}])
def test_fixed_options_are_set_here_whatever_the_worker_says(
    tmp_path: Path, told: JsonObject
) -> None:
    """The journal has them as they are written, and approvals count for them."""
    fixed: JsonObject = {"key": "Bearer ${SECRET}", "deep": {"n": 1}}
    variables = [{"name": "SECRET", "type": "secret", "required": True, "description": ""}]
    write(tmp_path, variables=variables, tools=[{"name": "files_read", "options": fixed}])
    file = parsed({**WORK, "llmProvider": "groq", "prompt": "p"}, mcpServers=MCP).file
    bundle = library(tmp_path, file).bundle_of(file.agents[0])
    planner = CallPlanner({}, bundle, epoch=1, now=1)
    commit = step("t1", "files_read", "files_list", "files_read", arguments=told)
    rejected = step("t1", "files_read", arguments={}, rejected="no").calls[0]
    commit = commit.model_copy(update={"calls": (*commit.calls[:2], rejected)})
    with opened(tmp_path) as db:
        open_turn(db, "t1")
        with job(db):
            planner.plan(db, commit)
            planner.plan(db, step("t1", "files_read", arguments=told), {"files_read"})
        stored = db.execute("SELECT args FROM step WHERE kind = 'tool' ORDER BY seq").fetchall()
    arguments = [json.loads(str(args)) for (args,) in stored]
    assert arguments == [{**told, **fixed}, told, {}, told]
