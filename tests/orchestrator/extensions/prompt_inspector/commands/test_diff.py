"""`orchestrator prompt diff`: two turns from the journal alone, or versions of a definition."""

import json
from pathlib import Path

import pytest
from fakes.control_server import command
from fakes.journal import CLASSES, open_turn, opened, step

from orchestrator.errors import ExitCode
from orchestrator.extensions.prompt_inspector.commands.diff import compare_contents, find_last_use
from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import steps, turns
from orchestrator.journal.turns.prompt_records import PromptSources
from thinker.protocol.messages import AUTO, JsonObject, LayerRecord, ToolSpec
from thinker.protocol.prompt_record import ModelSettings, PromptRecord

PLANNER = """\
toolDescription: Plans
model: inherit
tools: [get_time]
prompt:
  layered:
    identity: {type: include, prompt: who}
    safety: [Ask first.]
"""
OLD: JsonObject = {
    "name": "planner",
    "definitions": {
        "planner": {
            "name": "planner",
            "toolDescription": "Plans",
            "model": "inherit",
            "includeChat": True,
            "prompt": "You plan.\nBe brief.",
        }
    },
}


def tool(parameters: JsonObject) -> ToolSpec:
    """A tool that takes these."""
    return ToolSpec(name="look", description="Looks", parameters=parameters)


def sent(db: Database, base: str, heat: float, made_of: PromptSources) -> None:
    """The turn's model is asked once more, with this base prompt and temperature."""
    settings = ModelSettings(model="demo/demo", temperature=heat, tool_choice=AUTO, parallel=True)
    layers = (LayerRecord(name="base", text=base), LayerRecord(name="chat", text="chat_id: 7"))
    record = PromptRecord(layers=layers, tools=("look",), settings=settings, stable=base)
    now = 10 + int(db.execute("SELECT count(*) FROM turn_prompt").get)
    commit = step("t1", content="x").model_copy(update={"prompt": record})
    steps.plan(db, commit, CLASSES, 1, now, made_of)


def home(folder: Path) -> Path:
    """A home with two definitions, one of them used, and no journal."""
    agents: list[JsonObject] = [
        {"agentId": "work", "llmProvider": "demo", "prompt": "planner"},
        {"agentId": "bare", "llmProvider": "demo"},
    ]
    file = {"agents": agents, "fallbackAgentId": "work"}
    (folder / "agents.json").write_text(json.dumps(file), "utf-8")
    (folder / "prompts").mkdir()
    (folder / "prompts" / "planner.yaml").write_text(PLANNER, "utf-8")
    (folder / "prompts" / "who.md").write_text("You plan.", "utf-8")
    return folder


def test_what_is_the_same_is_not_mentioned() -> None:
    """What was added, removed and changed, in order."""
    found = compare_contents({"a": "1", "b": "x\ny", "c": "0"}, {"a": "1", "b": "x\nz", "d": "2"})
    assert [(change.what, change.before, change.after) for change in found] == [
        ("b", "x\ny", "x\nz"),
        ("c", "0", None),
        ("d", None, "2"),
    ]
    assert found[0].diff == "@@ -1,2 +1,2 @@\n x\n-y\n+z"


def test_two_turns_are_compared_from_the_journal_alone(tmp_path: Path) -> None:
    """Layers, tools with their schemas, settings and fingerprints; what is alike is left out."""
    with opened(home(tmp_path)) as db:
        open_turn(db)
        sent(db, "You plan.", 0.4, PromptSources(OLD, (tool({"type": "object"}),)))
        columns = "agent_id, session_id, recipe, state, epoch, deadline, allowed, code_ver"
        db.execute(
            f"INSERT INTO turn(id, chat_key, started_at, {columns})"  # noqa: S608 - of this test
            f" SELECT 't2', 'c', 9, {columns} FROM turn"
        )
        db.execute("UPDATE turn_prompt SET turn_id = 't2'")
        sent(db, "You plan trips.", 0.3, PromptSources(OLD, (tool({"type": "string"}),)))
    shown = command(tmp_path, "prompt", "diff", "t2", "t1")
    assert shown.exit_code == ExitCode.OK, shown.stderr
    assert shown.stdout.startswith("turn t2 → turn t1: 4 changes\n")
    assert "── setting temperature: 0.4 → 0.3 ──" in shown.stdout
    assert "── layer base ──\n@@ -1 +1 @@\n-You plan.\n+You plan trips." in shown.stdout
    assert '-    "type": "object"\n+    "type": "string"' in shown.stdout
    assert "chat_id" not in shown.stdout
    found = json.loads(command(tmp_path, "prompt", "diff", "t1", "t2", "--json").stdout)
    assert [change["what"] for change in found["changes"]] == [
        "setting temperature",
        "tool look",
        "layer base",
        "fingerprint stable",
    ]


@pytest.mark.process
def test_file_is_compared_with_what_the_last_turn_used(tmp_path: Path) -> None:
    """By the name of the agent or of the definition; sections of includes have their names."""
    with opened(home(tmp_path)) as db:
        open_turn(db)
        sent(db, "You plan.", 0.4, PromptSources(OLD))
    for name in ("work", "planner"):
        shown = command(tmp_path, "prompt", "diff", name).stdout
        assert shown.startswith("turn t1 → prompt planner: 5 changes\n")
        assert "── definition: includeChat: true → false ──" in shown
        assert "── definition: tools: none → {" in shown
        assert "── section text of who ──\n@@ -0,0 +1 @@\n+You plan." in shown


@pytest.mark.process
def test_definition_is_compared_with_another_file(tmp_path: Path) -> None:
    """A copy under another name is no change by itself."""
    home(tmp_path)
    other = tmp_path / "other.yaml"
    other.write_text(PLANNER.replace("first", "twice"), "utf-8")
    shown = command(tmp_path, "prompt", "diff", "planner", str(other)).stdout
    assert shown == (
        f"prompt planner → {other}: 1 change\n"
        "── section safety ──\n@@ -1 +1 @@\n-- Ask first.\n+- Ask twice.\n"
    )


def test_what_cannot_be_compared_is_refused_with_what_can(tmp_path: Path) -> None:
    """Agents without a definition, turns that are not kept, files that are broken."""
    with opened(home(tmp_path)) as db:
        open_turn(db)
    bare = command(tmp_path, "prompt", "diff", "bare")
    assert "agent 'bare' has no prompt definition; name two turns" in bare.stderr
    unused = command(tmp_path, "prompt", "diff", "work")
    assert "the journal has no turn of an agent or a prompt definition 'work'" in unused.stderr
    unasked = command(tmp_path, "prompt", "diff", "planner", "t1")
    assert "t1: this turn called no model" in unasked.stderr
    (tmp_path / "broken.yaml").write_text("prompt: x", "utf-8")
    broken = command(tmp_path, "prompt", "diff", "who", str(tmp_path / "broken.yaml"))
    assert broken.exit_code == ExitCode.CONFIG
    assert "model: is missing" in broken.stderr


def test_last_use_of_a_definition_or_an_agent_is_found(tmp_path: Path) -> None:
    """The newest prompt that was made of it."""
    with opened(tmp_path) as db:
        open_turn(db, "t1")
        assert find_last_use(db, "planner") is None
        prompt = PromptRecord(
            layers=(LayerRecord(name="base", text="x"),),
            tools=(),
            reasons={},
            layout="cached",
            stable="1",
        )
        commit = step("t1").model_copy(update={"prompt": prompt})
        for now in (3, 4):
            made_of = PromptSources({"name": "planner", "definitions": {}})
            steps.plan(db, commit, CLASSES, 1, now, made_of)
        agent_id = turns.load_turn(db, "t1").agent_id
        assert [find_last_use(db, name) for name in ("planner", agent_id)] == 2 * [("t1", 4)]
