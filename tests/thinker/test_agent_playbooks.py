"""Playbooks of the journal in a turn: merged with those of files, rebuilt only if changed."""

import json
from pathlib import Path

import pytest
from fakes.scripted import ScriptedModel, spec, turn_run
from structlog.testing import capture_logs

from thinker.agent import Agent
from thinker.protocol.env import ThinkerSettings
from thinker.protocol.messages import JsonObject
from thinker.protocol.methods import ListedSkill

FILE = "---\nname: {name}\ndescription: From a file.\n{metadata}---\nOf the file.\n"


def record(name: str, *keywords: str, priority: float = 0) -> JsonObject:
    """A playbook as the journal sends it."""
    return {
        "id": 1,
        "name": name,
        "description": "d",
        "instructions": f"Of the journal: {name}.",
        "trigger_config": {"keywords": list(keywords), "priority": priority},
        "required_tools": ["kettle"],
    }


def agent(root: Path, **files: str) -> Agent:
    """Return an agent with skill files of these names and keywords; none is a listed skill."""
    for name, keywords in files.items():
        path = root / "skills" / name / "SKILL.md"
        path.parent.mkdir(parents=True)
        metadata = f"metadata:\n  keywords: [{keywords}]\n" if keywords else ""
        path.write_text(FILE.format(name=name, metadata=metadata), "utf-8")
    return Agent(
        ThinkerSettings.model_validate({"skills_dirs": (root / "skills",)}), ScriptedModel()
    )


def guidance(one: Agent, text: str, *records: JsonObject) -> str | None:
    """The layer of matched playbooks."""
    turn = turn_run(text, spec("kettle"), playbooks=records)
    prompt = one.preparation.prepare_turn(turn).prompt
    return next((layer.text for layer in prompt.layers if layer.name == "playbooks"), None)


def test_playbooks_of_files_and_journal_match_together(tmp_path: Path) -> None:
    """In the order of their priorities."""
    one = agent(tmp_path, mug="tea")
    text = guidance(one, "tea please", record("cup", "tea", priority=1), record("x", "milk"))
    assert text == (
        "## Workflow Guidance\nFollow these steps when relevant:\n\n"
        "### Playbook: cup\nOf the journal: cup.\n\n### Playbook: mug\nOf the file."
    )


@pytest.mark.parametrize("keywords", ["tea", ""])
def test_file_wins_over_a_record_of_its_name(tmp_path: Path, keywords: str) -> None:
    """Also when the file is only listed."""
    text = guidance(agent(tmp_path, cup=keywords), "tea please", record("cup", "tea"))
    assert "Of the journal" not in (text or "")


def test_keywords_of_files_alone_are_recorded(tmp_path: Path) -> None:
    """Those of the journal may be a person's words, which are forgotten with the chat."""
    one = agent(tmp_path, mug="tea", pot="coffee")
    turn = turn_run("tea please", spec("kettle"), playbooks=(record("cup", "tea"),))
    assert one.preparation.prepare_turn(turn).prompt.playbooks == {
        "mug": ("tea",),
        "pot": ("coffee",),
    }


def test_incomplete_record_is_left_out(tmp_path: Path) -> None:
    """A record of a newer version must not stop the turn."""
    assert guidance(agent(tmp_path), "tea", {"name": "cup"}, record("tea")) is None


def test_listed_skills_of_the_journal_follow_those_of_files(tmp_path: Path) -> None:
    """Each name once."""
    one = agent(tmp_path, mail="", news="post")
    skills = tuple(ListedSkill(name=name, description="j") for name in ("mail", "news", "tea"))
    text = one.preparation.prepare_turn(turn_run("hi", skills=skills)).prompt.text
    assert text.count("<skill>") == 2
    assert "<name>mail</name>\n    <description>From a file." in text
    assert "<name>tea</name>\n    <description>j" in text


def test_matcher_is_built_anew_only_when_something_changed(tmp_path: Path) -> None:
    """Building the automaton takes time; a changed record counts at once."""
    one = agent(tmp_path)
    matchers = set()
    for _ in range(3):
        assert guidance(one, "tea", record("cup", "tea")) is not None
        matchers.add(one.preparation._matcher)
    assert len(matchers) == 1
    assert guidance(one, "tea", record("cup", "milk")) is None
    assert one.preparation._matcher not in matchers


def test_missing_tool_is_recorded_with_the_prompt(tmp_path: Path) -> None:
    """And logged; a tool that is offered is neither."""
    one = agent(tmp_path)
    with capture_logs() as events:
        found = one.preparation.prepare_turn(
            turn_run("tea", playbooks=(record("cup", "tea"),))
        ).prompt
    assert found.missing == {"kettle": "cup"}
    assert any("'kettle' of 'cup' is not offered" in str(event) for event in events)
    offered = turn_run("tea", spec("kettle"), playbooks=(record("cup", "tea"),))
    assert one.preparation.prepare_turn(offered).prompt.missing == {}


@pytest.mark.parametrize(
    ("needed", "offered", "used"),
    [
        ((), (), True),
        (("kettle", "stove"), ("stove",), True),
        (("kettle",), ("stove",), False),
        (("store_fact", "*web*"), ("store_fact",), False),
        (("store_fact", "*web*", "*news*"), ("store_fact", "acme_Web_search"), True),
    ],
)
def test_stored_playbook_comes_only_with_a_tool_that_it_needs(
    tmp_path: Path, needed: tuple[str, ...], offered: tuple[str, ...], *, used: bool
) -> None:
    """A name with ``*`` stands for tools of any server; a file comes in any case."""
    one = agent(tmp_path)
    books = (record("cup", "tea") | {"required_tools": list(needed)},)
    turn = turn_run("tea please", *map(spec, offered), playbooks=books)
    prompt = one.preparation.prepare_turn(turn).prompt
    assert (prompt.missing.keys() & {"*web*", "*news*"}) == set()
    assert any(layer.name == "playbooks" for layer in prompt.layers) is used


def test_question_of_an_agent_without_web_tools_brings_no_research(tmp_path: Path) -> None:
    """The bundled playbook for research is about pages that it could not read."""
    one = agent(tmp_path)
    books = tuple(
        {
            "id": 1,
            "name": seed["name"],
            "instructions": "\n".join(seed["steps"]),
            "trigger_config": {"keywords": seed["keywords"]},
            "required_tools": seed["required_tools"],
        }
        for seed in json.loads(Path("prompts/playbooks.json").read_text("utf-8"))
    )
    turn = turn_run("What is the capital of France?", spec("store_fact"), playbooks=books)
    layers = one.preparation.prepare_turn(turn).prompt.layers
    assert not any(layer.name == "playbooks" for layer in layers)
