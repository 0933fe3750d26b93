"""Changes of a trial are applied to what was recorded."""

import pytest
from fakes.replayed import LOOK, PROMPT, replayed, run_of
from fakes.scripted import spec

from orchestrator.control.trials import TrialChange
from orchestrator.errors import ConfigError
from orchestrator.extensions.workbench.recorded_parts import RecordedPart
from orchestrator.extensions.workbench.trial_changes import (
    NOTHING_NEW,
    TodaysSources,
    apply_change,
    list_renewed_layers,
)
from orchestrator.journal.memory.prompt_memory import PromptMemory
from thinker.protocol.messages import LayerRecord
from thinker.protocol.methods import TurnRun
from thinker.protocol.prompt_record import PromptRecord

(PART,) = replayed("Hi.").parts


def changed(
    part: RecordedPart = PART, today: TodaysSources = NOTHING_NEW, **fields: object
) -> TurnRun:
    """The run of a trial with these changes."""
    change = TrialChange.model_validate(fields)
    return apply_change(run_of(), change, part, today)


def given(run: TurnRun) -> PromptRecord:
    """The prompt that a run sends."""
    assert run.given is not None
    return run.given


def test_unchanged_run_sends_the_record() -> None:
    """With nothing made anew."""
    run = changed()
    assert (run.given, run.renewed) == (PROMPT, ())


def test_layers_get_their_new_texts_and_no_other() -> None:
    """A layer that the prompt has not is refused with those that it has."""
    run = changed(layers={"base": "Be long."})
    assert [layer.text for layer in given(run).layers] == ["Be long.", "chat 7"]
    with pytest.raises(ConfigError, match="no layer 'bass'; it has base, chat"):
        changed(layers={"bass": "Be long."})


def test_layout_is_that_of_the_trial() -> None:
    """So that it can be tried before it is set."""
    assert given(changed()).layout == "system"
    assert given(changed(layout="cached")).layout == "cached"


def test_temperature_and_effort_are_those_of_the_trial() -> None:
    """Each alone leaves the other as it was."""
    warm = given(changed(temperature=1.5)).settings
    assert warm is not None
    assert (warm.temperature, warm.reasoning) == (1.5, None)
    deep = given(changed(effort="high")).settings
    assert deep is not None
    assert deep.reasoning is not None
    assert (deep.temperature, deep.reasoning.effort) == (0.4, "high")


def test_tools_are_added_and_removed() -> None:
    """By today's list; an unknown one is refused."""
    repair = spec("repair", what="string")
    today = TodaysSources(tools=(repair, LOOK))
    run = changed(today=today, add_tools=["repair"], remove_tools=["send_mail"])
    assert given(run).tools == ("look", "repair")
    assert [tool.name for tool in run.tools] == ["look", "repair"]
    with pytest.raises(ConfigError, match="no tool 'bend'"):
        changed(today=today, add_tools=["bend"])


def renewed(*files: str, definition: str | None = None) -> tuple[str, ...]:
    """The layers that changed files make anew."""
    made = None if definition is None else {"name": definition, "definitions": {definition: {}}}
    part = PART.model_copy(update={"definition": made})
    return list_renewed_layers(TrialChange(files=dict.fromkeys(files, "text")), part)


def test_changed_files_renew_the_layers_that_they_make() -> None:
    """Those of other agents and definitions renew none."""
    assert renewed("skills/travel/SKILL.md") == ("playbooks", "skills")
    assert renewed("personas/work/skills/travel/SKILL.md") == ("playbooks", "skills")
    assert renewed("personas/home/skills/travel/SKILL.md") == ()
    assert renewed("personas/work/instructions.md") == ("base",)
    assert renewed("personas/home/instructions.md") == ()
    assert renewed("agents.json") == ("base",)
    assert renewed("prompts/guide.md", definition="guide") == ("base",)
    assert renewed("prompts/other.md", definition="guide") == ()
    assert renewed("prompts/default-system-prompt.md") == ("base",)


def test_prompt_as_today_is_made_of_todays_memory_and_the_recorded_summary() -> None:
    """The earlier summary is gone, and later messages must not be in it."""
    layer = LayerRecord(name="summary", text="## Previous Conversation Context\nThey met.")
    record = PROMPT.model_copy(update={"layers": (*PROMPT.layers, layer)})
    part = PART.model_copy(update={"record": record})
    today = TodaysSources(memory=PromptMemory(profile_prompt="Be kind."))
    run = changed(part, today, as_today=True)
    assert run.renewed == ("*",)
    assert (run.summary, run.profile_prompt) == ("They met.", "Be kind.")
    assert changed(part, today).profile_prompt is None
