"""Variables of prompts and their tools: where they are set, and who gets them."""

from pathlib import Path
from typing import Any

import pytest
from fakes.agents_file import WORK, parsed
from fakes.carrier import stand_in
from fakes.definition_files import MCP, library, problems, write
from fakes.journal import step
from pydantic import JsonValue

from orchestrator.agentsfile import AgentDefinition
from orchestrator.channel_api import InboundMessage
from orchestrator.journal.turns.steps import Call
from orchestrator.prompts.library import PromptLibrary
from orchestrator.prompts.prompt_set import build_environments, select_text_variables
from orchestrator.prompts.prompt_tools import apply_fixed_options, configure_call
from orchestrator.tools.remote_tools import RemoteTool
from thinker.formats.prompts.problem import DefinitionError
from thinker.protocol.environments import Environments
from thinker.protocol.messages import JsonObject, SideEffect, ToolSpec

CHAT = InboundMessage("telegram", "bot", "0", "1", "sender")
VALUES = {"A": "1", "SECRET": "x"}


def placed(home: Path, **fields: Any) -> tuple[PromptLibrary, AgentDefinition, Environments]:
    """A definition with a text and a secret, used by an agent; what is set in its chat."""
    kinds = {"A": "text", "SECRET": "secret"}
    variables = [
        {"name": name, "type": kind, "required": False, "description": ""}
        for name, kind in kinds.items()
    ]
    write(home, variables=variables, **fields)
    binding = {"channel": "telegram", "chatId": "0", "agentId": "work"}
    with stand_in():
        file = parsed(
            {**WORK, "llmProvider": "groq", "prompt": "p", "env": VALUES},
            bindings=[binding | {"variables": {"A": "2"}}],
            channels={"telegram": {"variables": {"A": "3"}}},
            variables={"A": "4"},
            mcpServers=MCP,
        ).file
    found = library(home, file)
    return found, file.agents[0], build_environments(file.agents[0], file, CHAT)


def test_variables_come_from_the_places_of_agents_json_that_declare_them(tmp_path: Path) -> None:
    """Chat, channel, daemon and agent each set a level; a worker gets no secrets."""
    found, agent, known = placed(tmp_path)
    assert (known.thread, known.account, known.instance, known.agent) == (
        {"A": "2"},
        {"A": "3"},
        {"A": "4"},
        VALUES,
    )
    assert known.merge_levels() == {"A": "2", "SECRET": "x"}
    bundle = found.current_set.find_bundle(agent)
    assert bundle is not None
    assert select_text_variables(bundle, known).merge_levels() == {"A": "2"}


def call(**arguments: JsonValue) -> Call:
    """A call of an MCP server's tool, as the journal has it."""
    own = SideEffect.NON_IDEMPOTENT
    return Call("t", 2, "c", "files_read", own, arguments, "t:2", "planned", None, 1)


def test_tool_gets_its_variables_and_options_when_it_is_called(tmp_path: Path) -> None:
    """The chat's value beats the entry's; what a model writes itself is never filled in."""
    entry = {
        "name": "files_read",
        "env": {"A": "0", "STORE": "vs_1"},
        "options": {"key": "Bearer ${SECRET}", "in": [{"store": "${STORE}/${A}"}]},
    }
    found, agent, known = placed(tmp_path, tools=[entry])
    assert problems(found) == []
    spec = ToolSpec(name="files_read", description="", parameters={})
    tool = RemoteTool(spec, "files", "read", 1.0, keyed=False)
    given = call(**entry["options"], path="${SECRET}")  # type: ignore[arg-type]  # JSON
    made, equipped = configure_call(found.current_set.find_bundle(agent), known, given, tool)
    assert made.arguments == {
        "key": "Bearer x",
        "in": [{"store": "vs_1/2"}],
        "path": "${SECRET}",
    }
    assert equipped.env == {"A": "2", "STORE": "vs_1"}
    assert configure_call(found.current_set.find_bundle(agent), known, call(key="${SECRET}"), tool)[
        0
    ].arguments == {"key": "${SECRET}"}


def test_call_whose_variable_is_not_set_is_refused(tmp_path: Path) -> None:
    """An option with an undeclared name is an error of the file."""
    entry = {"name": "files_read", "options": {"key": "${SECRET}"}}
    found, agent, _ = placed(tmp_path, tools=[entry])
    tool = RemoteTool(
        ToolSpec(name="r", description="", parameters={}), "files", "read", 1.0, keyed=False
    )
    with pytest.raises(DefinitionError, match="SECRET is not set; the operator has to set it"):
        configure_call(
            found.current_set.find_bundle(agent), Environments(), call(key="${SECRET}"), tool
        )
    (unknown, *_) = problems(placed(tmp_path, tools=[entry | {"options": {"a": "${B}"}}])[0])
    assert "tools[0].options: 'B' is not declared; add it to \"variables\"" in unknown


def test_what_a_parent_shares_is_no_text_where_it_is_its_secret(tmp_path: Path) -> None:
    """However the subagent declares it."""
    found, parent, known = placed(tmp_path)
    telling = [{"name": "SECRET", "type": "text", "required": True, "description": ""}]
    write(tmp_path, "child", variables=telling)
    child = parent.model_copy(update={"agent_id": "child", "prompt": "child"})
    plain = parent.model_copy(update={"agent_id": "plain", "prompt": None})
    found.read_files(
        parsed({**WORK, "prompt": "p"}, {**WORK, "agentId": "c", "prompt": "child"}).file
    )
    names = ("A", "SECRET", "UNSET")
    assert found.current_set.list_shared_variables(parent, known, child, names) == {"A": "2"}
    assert found.current_set.list_shared_variables(parent, known, plain, names) == {
        "A": "2",
        "SECRET": "x",
    }


@pytest.mark.parametrize("told", [{}, {"key": "${OTHER}", "path": "a"}, {"key": "x", "deep": 1}])
def test_fixed_options_are_set_here_whatever_the_worker_says(
    tmp_path: Path, told: JsonObject
) -> None:
    """The journal has them as they are written, and approvals count for them."""
    fixed: JsonObject = {"key": "Bearer ${SECRET}", "deep": {"n": 1}}
    prompts, agent, _ = placed(tmp_path, tools=[{"name": "files_read", "options": fixed}])
    bundle = prompts.current_set.find_bundle(agent)
    commit = step("t1", "files_read", "files_list", arguments=told)
    rejected = step("t1", "files_read", arguments={}, rejected="no").calls[0]
    commit = commit.model_copy(update={"calls": (*commit.calls, rejected)})
    calls = apply_fixed_options(bundle, commit).calls
    assert [call.arguments for call in calls] == [{**told, **fixed}, told, {}]
    assert apply_fixed_options(bundle, commit, {"files_read"}) == commit
    assert apply_fixed_options(None, commit) is commit
