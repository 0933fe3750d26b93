"""The definitions in force: cross-checked, the last good one kept, also over a restart."""

from pathlib import Path
from typing import Any

import pytest
from fakes.agents_file import WORK, parsed
from fakes.definition_files import MCP, agents, library, problems, write

from orchestrator.channel_api import InboundMessage
from orchestrator.prompts.library import PromptLibrary
from orchestrator.settings import Settings

CHAT = InboundMessage("telegram", "bot", "0", "1", "sender")


def bundle_json(found: PromptLibrary) -> Any:
    """The agent's definition as a turn carries it; None if it has none."""
    bundle = found.current_set.find_bundle(agents().agents[0])
    return bundle and bundle.dump_json()


def text(found: PromptLibrary) -> Any:
    """Return the text of the agent's definition."""
    bundle: Any = bundle_json(found)
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
    bundle: Any = bundle_json(found)
    assert bundle["name"] == "p"
    assert bundle["definitions"].keys() == {"p", "rules", "helper"}


def test_broken_edit_leaves_the_last_good_version_also_after_a_restart(tmp_path: Path) -> None:
    """A wrong form or name: the agent keeps working, the operator gets a problem."""
    write(tmp_path)
    found = library(tmp_path)
    found.store_last_good()
    for broken in (
        {"prompt": 3},
        {"model": "none"},
        {"prompt": [{"type": "include", "prompt": "p"}]},
    ):
        write(tmp_path, **broken)
        found.read_files(agents())
        for now in (found, library(tmp_path)):
            assert text(now) == "Be kind."
            (problem,) = problems(now)
            assert problem.startswith("p.json:1: prompt 'p': ")
            assert problem.endswith("; its last good version is in force")
    write(tmp_path, prompt="Corrected.")
    found.read_files(agents())
    assert (text(found), problems(found)) == ("Corrected.", [])


def test_what_includes_a_broken_definition_keeps_working(tmp_path: Path) -> None:
    """The include has its last good version too."""
    write(tmp_path, prompt=[{"type": "include", "prompt": "rules"}])
    write(tmp_path, "rules")
    found = library(tmp_path)
    write(tmp_path, "rules", prompt=3)
    found.read_files(agents())
    assert text(found) == [{"type": "include", "prompt": "rules"}]
    (tmp_path / "prompts" / "rules.json").unlink()
    found.read_files(agents())
    assert text(found) is not None
    assert "rules" in found.current_set.definitions
    (tmp_path / "prompts" / "p.json").unlink()
    found.read_files(agents())
    assert text(found) is not None
    assert problems(found) == [
        (
            "agents.json: warning: agent 'work' has the prompt 'p', whose file is gone; "
            "its last version is used"
        )
    ]


def test_new_definition_that_is_broken_is_never_used(tmp_path: Path) -> None:
    """Nor is one that includes it; the agent is named with the problem."""
    write(tmp_path, prompt=[{"type": "include", "prompt": "rules"}])
    write(tmp_path, "rules", prompt=3)
    found = library(tmp_path)
    assert text(found) is None
    assert problems(found) == [
        "p.json:1: prompt 'p': prompt[0].prompt: there is no prompt 'rules'; correct the name",
        (
            "rules.json:1: prompt 'rules': prompt: must be text, a list of parts, "
            '{"layered": …} or {"slots": …}'
        ),
        "agents.json: agent 'work' has the prompt 'p', which cannot be used; correct its file",
    ]


def test_unknown_tool_is_a_warning_and_the_rest_holds(tmp_path: Path) -> None:
    """An MCP server may come later."""
    write(tmp_path, tools=["nothing"])
    found = library(tmp_path)
    assert text(found) == "Be kind."
    assert problems(found) == [
        "p.json:1: warning: prompt 'p': tools[0]: there is no tool, prompt or agent 'nothing'"
    ]


def test_unknown_option_of_a_tool_is_an_error_with_its_line(tmp_path: Path) -> None:
    """The nearest parameter is named; the rest of the definition is used."""
    path = tmp_path / "prompts" / "p.yaml"
    path.parent.mkdir()
    path.write_text(
        "toolDescription: t\nmodel: inherit\nprompt: Be kind.\n"
        "tools:\n- name: send_message\n  options:\n    chatId: '42'\n"
        "- name: get_time\n  options: {zone: UTC}\n- name: wiki_get\n  options: {key: k}\n",
        "utf-8",
    )
    servers = {"wiki": {"command": "true"}}
    found = library(tmp_path, parsed(WORK | {"prompt": "p"}, mcpServers=servers).file)
    first, second = problems(found)
    assert first == (
        "p.yaml:7: prompt 'p': tools[0].options.chatId: send_message has no parameter 'chatId';"
        ' did you mean "chat_id"?; every call is refused until then'
    )
    assert second.startswith("p.yaml:9: prompt 'p': tools[1].options.zone: get_time has no param")
    assert text(found) == "Be kind."


def test_what_has_no_effect_is_said(tmp_path: Path) -> None:
    """The entry is reported as ignored; the rest of the definition is used."""
    lives = {"receives_messages": "side_b"}
    write(
        tmp_path,
        tools=[{"name": "work", "resumable": lives}, {"name": "get_time", "env": {"A": "1"}}],
    )
    found = library(tmp_path, agents(asTool="subagent"))
    assert [(problem.severity, problem.path) for problem in found.current_set.problems] == [
        ("warning", "tools[0].resumable"),
        ("warning", "tools[1].env"),
    ]
    assert text(found) == "Be kind."


def test_variable_that_is_not_declared_is_named_with_its_line(tmp_path: Path) -> None:
    """The model reads it as it is written; a secret in the text is an error."""
    front = (
        "---\ntoolDescription: d\nmodel: inherit\nvariables:\n"
        "  - {name: CITY, type: text, required: false, description: d}\n"
        "  - {name: KEY, type: secret, required: false, description: d}\n---\n"
    )
    (tmp_path / "prompts").mkdir()
    file = tmp_path / "prompts" / "p.md"
    file.write_text(f"{front}In ${{CITY}}.\nCall ${{NAME}}.\nCall ${{NAME}}.\n", "utf-8")
    (told,) = problems(library(tmp_path))
    assert told == (
        "p.md:9: warning: prompt 'p': prompt: '${NAME}' is text for the model, as no"
        " \"variables\" declare 'NAME'; declare it, or write the text otherwise"
    )
    file.write_text(f"{front}In ${{CITY}}.\n\nKey ${{KEY}}.\n", "utf-8")
    refused, *_ = problems(library(tmp_path))
    assert refused.startswith("p.md:10: prompt 'p': prompt: '${KEY}' may be used in the text only")


def test_unknown_prompt_of_an_agent_is_named_with_the_nearest(tmp_path: Path) -> None:
    """The message suggests the right name."""
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
    changed = library(tmp_path).current_set.apply_prompt_model(file.agents[0], file)
    assert (changed.llm_provider, changed.model, changed.temperature) == ("openai", "o9", 0.1)
    write(tmp_path)
    assert library(tmp_path).current_set.apply_prompt_model(file.agents[0], file) is file.agents[0]


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
    found.store_last_good()
    assert text(found) == "Be kind."


def test_hooks_must_be_there_and_allowed(tmp_path: Path) -> None:
    """A definition with a missing hook is not used, because the hook may redact secrets."""
    write(tmp_path, hooks=["redact"])
    missing, _ = library(tmp_path).current_set.problems
    expected = "prompt 'p': hooks[0]: there is no hook 'redact'; add hooks/redact.py"
    assert missing.message == expected
    (tmp_path / "hooks").mkdir()
    (tmp_path / "hooks" / "redact.py").write_text("", "utf-8")
    off = "agents.json: warning: agent 'work' has hooks, which are off; "
    assert problems(library(tmp_path)) == [f'{off}set "allowHooks": true or remove them']
    allowed = agents(allowHooks=True, hooks=["redacts"])
    (unknown,) = problems(library(tmp_path, allowed))
    assert "agent 'work' has the unknown hook 'redacts'; did you mean \"redact\"?" in unknown


def test_hook_that_is_no_program_is_told_with_its_line(tmp_path: Path) -> None:
    """Before a turn needs it; nothing of it runs."""
    path = tmp_path / "hooks" / "redact.py"
    path.parent.mkdir()
    path.write_text("x = 1\ndef before(:\n", "utf-8")
    allowed = agents(allowHooks=True, hooks=["redact"])
    write(tmp_path)
    (problem,) = problems(library(tmp_path, allowed))
    assert problem.startswith("redact.py:2: hook 'redact': ")


def test_base_prompt_that_cannot_be_used_is_told_with_what_agents_have_instead(
    tmp_path: Path,
) -> None:
    """An empty file of the home, and what the environment names without being there."""
    own = tmp_path / "prompts" / "default-system-prompt.md"
    own.parent.mkdir()
    own.write_text(" \n", "utf-8")
    (problem,) = problems(library(tmp_path, parsed(WORK).file))
    assert problem.startswith("default-system-prompt.md: the default prompt cannot be used: it is")
    assert problem.endswith("agents without a prompt of their own have a built-in one until then")
    named = Settings.read_environ(
        {
            "ORCHESTRATOR_HOME": str(tmp_path),
            "THINKER_DEFAULT_SYSTEM_PROMPT_PATH": str(tmp_path / "gone.md"),
            "THINKER_FACT_EXTRACTION_PROMPT_PATH": str(tmp_path / "none.md"),
            "THINKER_PERSONA_DIR": str(own),
        }
    )
    found = PromptLibrary(named)
    found.read_files(parsed(WORK).file)
    gone, facts, persona = problems(found)
    assert facts.startswith("none.md: THINKER_FACT_EXTRACTION_PROMPT_PATH: it cannot be used: ")
    assert gone.startswith("gone.md: THINKER_DEFAULT_SYSTEM_PROMPT_PATH: the default prompt")
    assert persona.startswith("default-system-prompt.md: THINKER_PERSONA_DIR: not a folder")
