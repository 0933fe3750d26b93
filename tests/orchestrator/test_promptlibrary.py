"""The definitions in force: cross-checked, the last good one kept, also over a restart."""

import json
from pathlib import Path
from typing import Any

import pytest
from fakes.agents_file import WORK, parsed
from pydantic import JsonValue

from orchestrator.adapter import InboundMessage
from orchestrator.definitions import AgentDefinition, AgentsFile
from orchestrator.journal.steps import Call
from orchestrator.mcptools import McpTool
from orchestrator.promptlibrary import PromptLibrary
from orchestrator.settings import Settings
from thinker.protocol.messages import SideEffect, ToolSpec
from thinker.protocol.prompts.environments import Environments
from thinker.protocol.prompts.problem import DefinitionError

CHAT = InboundMessage("telegram", "bot", "0", "1", "sender")


def agents(**fields: Any) -> AgentsFile:
    """A file with one agent whose prompt is the definition ``p``."""
    top = {"models": {"heavy": {"provider": "openai", "model": "o9", "temperature": 0.1}}}
    return parsed({**WORK, "llmProvider": "groq", "prompt": "p", **fields}, **top).file


def write(home: Path, name: str = "p", **fields: Any) -> None:
    """A definition file."""
    body = {"toolDescription": "d", "model": "inherit", "prompt": "Be kind."}
    folder = home / "prompts"
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps({**body, **fields}), "utf-8")


def library(home: Path, file: AgentsFile | None = None) -> PromptLibrary:
    """What a daemon of this home reads at its start."""
    found = PromptLibrary(Settings(home=home))
    found.read(file or agents())
    return found


def problems(found: PromptLibrary) -> list[str]:
    """What is wrong, without the place of the files."""
    return [str(problem).rpartition("/")[2] for problem in found.problems]


def text(found: PromptLibrary) -> Any:
    """The words of the definition that the agent uses."""
    bundle: Any = found.of(agents().agents[0])
    return None if bundle is None else bundle["definitions"]["p"]["prompt"]


def test_good_definition_is_in_force_with_what_it_needs(tmp_path: Path) -> None:
    """Includes and sub-prompts travel with it, nothing else does."""
    include = [{"type": "include", "prompt": "rules"}]
    write(tmp_path, prompt=include, tools=["helper", "get_time", "files_read"])
    write(tmp_path, "rules", prompt="Be kind.")
    write(tmp_path, "helper", prompt=include)
    write(tmp_path, "other")
    found = library(tmp_path, parsed(WORK | {"prompt": "p"}, mcpServers=MCP).file)
    assert problems(found) == []
    bundle: Any = found.of(agents().agents[0])
    assert bundle["name"] == "p"
    assert bundle["definitions"].keys() == {"p", "rules", "helper"}


MCP = {"files": {"command": "x"}}


def test_broken_edit_leaves_the_last_good_version_also_after_a_restart(tmp_path: Path) -> None:
    """In form or in what it names: the agent does not notice, the operator does."""
    write(tmp_path)
    found = library(tmp_path)
    found.keep()
    for broken in (
        {"prompt": 3},
        {"model": "none"},
        {"prompt": [{"type": "include", "prompt": "p"}]},
    ):
        write(tmp_path, **broken)
        found.read(agents())
        for now in (found, library(tmp_path)):
            assert text(now) == "Be kind."
            (problem,) = problems(now)
            assert problem.startswith("p.json: prompt 'p': ")
            assert problem.endswith("; its last good version is in force")
    write(tmp_path, prompt="Mended.")
    found.read(agents())
    assert (text(found), problems(found)) == ("Mended.", [])


def test_what_includes_a_broken_definition_keeps_working(tmp_path: Path) -> None:
    """The include has its last good version too."""
    write(tmp_path, prompt=[{"type": "include", "prompt": "rules"}])
    write(tmp_path, "rules")
    found = library(tmp_path)
    write(tmp_path, "rules", prompt=3)
    found.read(agents())
    assert text(found) == [{"type": "include", "prompt": "rules"}]
    (tmp_path / "prompts" / "rules.json").unlink()
    found.read(agents())
    assert text(found) is not None
    assert "rules" in found.definitions
    (tmp_path / "prompts" / "p.json").unlink()
    found.read(agents())
    assert text(found) is not None
    assert problems(found) == [
        (
            "agents.json: warning: agent 'work' has the prompt 'p', whose file is gone; "
            "its last version is used"
        )
    ]


def test_new_definition_that_is_broken_is_never_used(tmp_path: Path) -> None:
    """Nor is one that needs it; the agent is told with its problem."""
    write(tmp_path, prompt=[{"type": "include", "prompt": "rules"}])
    write(tmp_path, "rules", prompt=3)
    found = library(tmp_path)
    assert text(found) is None
    assert problems(found) == [
        "p.json: prompt 'p': prompt[0].prompt: there is no prompt 'rules'; mend the name",
        (
            "rules.json: prompt 'rules': prompt: must be text, a list of parts, "
            '{"layered": …} or {"slots": …}'
        ),
        "agents.json: agent 'work' has the prompt 'p', which cannot be used; mend its file",
    ]


def test_unknown_tool_is_a_warning_and_the_rest_holds(tmp_path: Path) -> None:
    """An MCP server may come later."""
    write(tmp_path, tools=["nothing"])
    found = library(tmp_path)
    assert text(found) == "Be kind."
    assert problems(found) == [
        "p.json: warning: prompt 'p': tools[0]: there is no tool, prompt or agent 'nothing'"
    ]


def test_what_has_no_effect_is_said(tmp_path: Path) -> None:
    """Nobody relies on an entry that nothing obeys; the rest of the definition holds."""
    lives = {"receives_messages": "side_b"}
    write(
        tmp_path,
        tools=[{"name": "work", "resumable": lives}, {"name": "get_time", "env": {"A": "1"}}],
    )
    found = library(tmp_path, agents(asTool="subagent"))
    assert [(problem.severity, problem.path) for problem in found.problems] == [
        ("warning", "tools[0].resumable"),
        ("warning", "tools[1].env"),
    ]
    assert text(found) == "Be kind."


def test_unknown_prompt_of_an_agent_is_named_with_the_nearest(tmp_path: Path) -> None:
    """A slip of the pen is found at once."""
    write(tmp_path, "support")
    found = library(tmp_path, agents(prompt="suport"))
    assert problems(found) == [
        (
            "agents.json: agent 'work' has the prompt 'suport', which cannot be used; "
            'did you mean "support"?'
        )
    ]


def test_system_prompt_beside_a_definition_is_warned_about(tmp_path: Path) -> None:
    """One of the two has no effect."""
    write(tmp_path)
    (problem,) = problems(library(tmp_path, agents(systemPrompt="x")))
    assert 'its "systemPrompt" has no effect' in problem


def test_model_of_a_definition_is_the_one_that_is_run(tmp_path: Path) -> None:
    """A named model replaces the agent's own; inherit keeps it."""
    write(tmp_path, model="heavy")
    file = agents()
    changed = library(tmp_path).with_model(file.agents[0], file)
    assert (changed.llm_provider, changed.model, changed.temperature) == ("openai", "o9", 0.1)
    write(tmp_path)
    assert library(tmp_path).with_model(file.agents[0], file) is file.agents[0]


@pytest.mark.parametrize("damage", [b"{", b'{"p": 3}', None])
def test_damaged_copy_of_the_last_good_ones_is_no_obstacle(
    tmp_path: Path, damage: bytes | None
) -> None:
    """The files themselves are read."""
    write(tmp_path)
    store = tmp_path / "prompts.last-good.json"
    if damage is None:
        store.mkdir()
    else:
        store.write_bytes(damage)
    found = library(tmp_path)
    found.keep()
    assert text(found) == "Be kind."


def test_hooks_must_be_there_and_allowed(tmp_path: Path) -> None:
    """A definition with a hook that is not there is not used: it may be what redacts."""
    write(tmp_path, hooks=["redact"])
    missing, _ = library(tmp_path).problems
    expected = "prompt 'p': hooks[0]: there is no hook 'redact'; add hooks/redact.py"
    assert missing.message == expected
    (tmp_path / "hooks").mkdir()
    (tmp_path / "hooks" / "redact.py").write_text("", "utf-8")
    off = "agents.json: warning: agent 'work' has hooks, which are off; "
    assert problems(library(tmp_path)) == [f'{off}set "allowHooks": true or remove them']
    allowed = agents(allowHooks=True, hooks=["redacts"])
    (unknown,) = problems(library(tmp_path, allowed))
    assert "agent 'work' has the unknown hook 'redacts'; did you mean \"redact\"?" in unknown


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
    file = parsed(
        {**WORK, "llmProvider": "groq", "prompt": "p", "env": VALUES},
        bindings=[binding | {"variables": {"A": "2"}}],
        channels={"telegram": {"variables": {"A": "3"}}},
        variables={"A": "4"},
        mcpServers=MCP,
    ).file
    found = library(home, file)
    return found, file.agents[0], found.environments(file.agents[0], file, CHAT)


def test_variables_come_from_the_places_of_agents_json_that_declare_them(tmp_path: Path) -> None:
    """Chat, channel, daemon and agent, each in its level; a worker gets what may be told."""
    found, agent, known = placed(tmp_path)
    assert (known.thread, known.account, known.instance, known.agent) == (
        {"A": "2"},
        {"A": "3"},
        {"A": "4"},
        VALUES,
    )
    assert known.merged() == {"A": "2", "SECRET": "x"}
    assert found.worded(agent, known).merged() == {"A": "2"}


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
    tool = McpTool(spec, "files", "read", 1.0, keyed=False)
    given = call(**entry["options"], path="${SECRET}")  # type: ignore[arg-type]  # JSON
    made, equipped = found.configured(agent, known, given, tool)
    assert made.arguments == {
        "key": "Bearer x",
        "in": [{"store": "vs_1/2"}],
        "path": "${SECRET}",
    }
    assert equipped.env == {"A": "2", "STORE": "vs_1"}
    assert found.configured(agent, known, call(key="${SECRET}"), tool)[0].arguments == {
        "key": "${SECRET}"
    }


def test_call_whose_variable_is_not_set_is_refused(tmp_path: Path) -> None:
    """And an option with a name that nobody declares is an error of the file."""
    entry = {"name": "files_read", "options": {"key": "${SECRET}"}}
    found, agent, _ = placed(tmp_path, tools=[entry])
    tool = McpTool(
        ToolSpec(name="r", description="", parameters={}), "files", "read", 1.0, keyed=False
    )
    with pytest.raises(DefinitionError, match="SECRET is not set; the operator has to set it"):
        found.configured(agent, Environments(), call(key="${SECRET}"), tool)
    (unknown, *_) = problems(placed(tmp_path, tools=[entry | {"options": {"a": "${B}"}}])[0])
    assert "tools[0].options: 'B' is not declared; add it to \"variables\"" in unknown


def test_what_a_parent_shares_is_no_text_where_it_is_its_secret(tmp_path: Path) -> None:
    """However the subagent declares it."""
    found, parent, known = placed(tmp_path)
    telling = [{"name": "SECRET", "type": "text", "required": True, "description": ""}]
    write(tmp_path, "child", variables=telling)
    child = parent.model_copy(update={"agent_id": "child", "prompt": "child"})
    plain = parent.model_copy(update={"agent_id": "plain", "prompt": None})
    found.read(parsed({**WORK, "prompt": "p"}, {**WORK, "agentId": "c", "prompt": "child"}).file)
    names = ("A", "SECRET", "UNSET")
    assert found.shared(parent, known, child, names) == {"A": "2"}
    assert found.shared(parent, known, plain, names) == {"A": "2", "SECRET": "x"}


def test_optional_agent_is_a_tool_where_its_variable_switches_it_on(tmp_path: Path) -> None:
    """Unset is off; the agent's own setting is one of those that count."""
    write(tmp_path, tools=[{"name": "work", "optional": "HELP"}])
    file = agents(asTool="subagent")
    found = library(tmp_path, file)
    (agent,) = file.agents
    assert found.tools(agent) == {}
    assert found.tools(agent.model_copy(update={"env": {"HELP": "Yes"}})).keys() == {"work"}
    assert found.tools(agent.model_copy(update={"env": {"HELP": "off"}})) == {}
