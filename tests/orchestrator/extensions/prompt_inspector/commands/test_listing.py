"""`orchestrator prompt list`, `check` and `show` of definitions."""

import hashlib
import json
from pathlib import Path

import pytest
from fakes.control_server import command

from orchestrator.errors import ExitCode

PLANNER = """\
toolDescription: Plans
model: inherit
tools: [get_time]
prompt:
  layered:
    identity: {type: include, prompt: who}
    safety: [Ask first.]
"""
HEAD = "toolDescription: Greets\nmodel: inherit\n"
SLOTS = """\
toolDescription: Translates
model: inherit
prompt: {slots: {system: You translate., instruct: [Keep names.]}}
"""


def home(folder: Path) -> Path:
    """A home with two definitions, one of them used."""
    agent = {"agentId": "work", "llmProvider": "demo", "prompt": "planner"}
    file = {"agents": [agent], "fallbackAgentId": "work"}
    (folder / "agents.json").write_text(json.dumps(file), "utf-8")
    (folder / "prompts").mkdir()
    (folder / "prompts" / "planner.yaml").write_text(PLANNER, "utf-8")
    (folder / "prompts" / "who.md").write_text("You plan.", "utf-8")
    return folder


def test_list_shows_form_and_users_of_each(tmp_path: Path) -> None:
    """Bundled ones are listed too."""
    shown = command(home(tmp_path), "prompt", "list", "--json")
    found = {entry["name"]: entry for entry in json.loads(shown.stdout)["prompts"]}
    assert found["planner"] == {
        "name": "planner",
        "form": "layered",
        "model": "inherit",
        "includes": ["who"],
        "tools": ["get_time"],
        "agents": ["work"],
    }
    assert found["who"]["form"] == found["default-system-prompt"]["form"] == "text"
    assert "planner" in command(tmp_path, "prompt", "list").stdout


def test_tools_of_a_definition_that_may_call_none_are_none(tmp_path: Path) -> None:
    """Whatever it lists; one that lists none at all has none, and only without a list has all."""
    folder = tmp_path / "prompts"
    folder.mkdir()
    for name, fields in {
        "mute": "toolChoice: none",
        "gagged": "toolChoice: none\ntools: [get_time]",
        "bare": "tools: []",
        "free": "toolChoice: auto",
    }.items():
        (folder / f"{name}.yaml").write_text(f"{HEAD}{fields}\nprompt: Hi.\n", "utf-8")
    entries = json.loads(command(tmp_path, "prompt", "list", "--json").stdout)["prompts"]
    tools = {entry["name"]: entry["tools"] for entry in entries}
    assert [tools[name] for name in ("mute", "gagged", "bare", "free")] == [[], [], [], None]
    rows = [line.split() for line in command(tmp_path, "prompt", "list").stdout.splitlines()]
    shown = {row[0]: row for row in rows if row}
    assert [shown[name][3] for name in ("mute", "gagged", "bare", "free")] == [*["none"] * 3, "all"]


def test_check_names_file_place_and_what_to_do(tmp_path: Path) -> None:
    """The exit code is that of a bad configuration; `orchestrator check` says the same."""
    broken = home(tmp_path) / "prompts" / "broken.yaml"
    assert command(tmp_path, "prompt", "check").exit_code == ExitCode.OK
    broken.write_text(PLANNER.replace("prompt: who", "prompt: whom"), "utf-8")
    expected = f"{broken}:4: prompt 'broken': prompt: there is no prompt 'whom'; correct the name"
    for words in (("prompt", "check"), ("check",)):
        shown = command(tmp_path, *words)
        assert shown.exit_code == ExitCode.CONFIG
        assert expected in shown.stdout


@pytest.mark.process
def test_show_prints_a_definition_with_sizes_and_fingerprint(tmp_path: Path) -> None:
    """In any layout, without an agent and without a model."""
    text = "# Identity\nYou plan.\n\n# Safety\n- Ask first."
    shown = command(home(tmp_path), "prompt", "show", "planner").stdout
    assert shown.startswith(f"{text}\n── identity · from planner · 0 chars ──\n")
    assert "── text · from who · 9 chars ──" in shown
    assert hashlib.sha256(text.encode()).hexdigest() in shown
    plain = command(tmp_path, "prompt", "show", "planner", "--layout", "plain", "--json")
    assert json.loads(plain.stdout)["text"] == "You plan.\n\n- Ask first."
    (tmp_path / "prompts" / "slots.yaml").write_text(SLOTS, "utf-8")
    messages = command(tmp_path, "prompt", "show", "slots", "--layout", "agently_messages").stdout
    assert [json.loads(line)["role"] for line in messages.splitlines()[:2]] == ["system", "user"]


@pytest.mark.process
def test_agent_is_shown_with_its_definition(tmp_path: Path) -> None:
    """The base layer is what the definition is for this agent."""
    home(tmp_path)
    shown = command(tmp_path, "prompt", "show", "work", "--message", "hi", "--json")
    base = json.loads(shown.stdout)["layers"][0]["text"]
    assert "| get_time | The current date and time. | never |" in base


@pytest.mark.process
def test_what_cannot_be_shown_is_refused_with_what_can(tmp_path: Path) -> None:
    """An unknown name, an unknown layout."""
    home(tmp_path)
    unknown = command(tmp_path, "prompt", "show", "nobody")
    assert "no agent or prompt is called 'nobody'; see: orchestrator prompt list" in unknown.stderr
    layout = command(tmp_path, "prompt", "show", "who", "--layout", "haiku")
    assert "unknown layout 'haiku'; use one of: markdown, plain" in layout.stderr
    empty = command(tmp_path, "prompt", "show", "who", "--layout", "agently_text")
    assert empty.exit_code == ExitCode.CONFIG


def test_list_tells_which_default_prompt_is_used(tmp_path: Path) -> None:
    """The bundled one, or the home's."""
    bundled = json.loads(command(home(tmp_path), "prompt", "list", "--json").stdout)
    assert bundled["defaultPrompt"]["source"] == "bundled"
    own = tmp_path / "prompts" / "default-system-prompt.md"
    own.write_text("Be mine.", "utf-8")
    found = json.loads(command(tmp_path, "prompt", "list", "--json").stdout)
    assert found["defaultPrompt"] == {"path": str(own), "source": "home"}
    told = f"agents without their own prompt use {own} (of this home)"
    assert told in command(tmp_path, "prompt", "list").stdout
