"""Workers of trials have recorded settings, and the addresses and rights of today."""

from pathlib import Path
from typing import Any

import pytest
from fakes.agents_file import parsed
from fakes.replayed import replayed

from orchestrator.errors import ConfigError
from orchestrator.extensions.workbench.recorded_parts import RecordedPart
from orchestrator.extensions.workbench.trial_worker import (
    NOWHERE,
    ModelOnTrial,
    TrialHome,
    build_trial_spec,
    write_trial_files,
)
from orchestrator.processes.launch import LaunchSpec
from orchestrator.prompts.prompt_set import PromptSet
from orchestrator.settings import Settings
from thinker.protocol.messages import JsonObject, LayerRecord
from thinker.protocol.prompt_record import TOOL_BLOCK

AGENT: dict[str, Any] = {
    "agentId": "work",
    "llmProvider": "openai",
    "model": "gpt-5",
    "baseUrl": "http://127.0.0.1:1/v1",
    "fallbackModels": ["anthropic/claude"],
    "smallModel": "groq/small",
    "allowHooks": True,
    "hooks": ["mine"],
    "systemPrompt": "Be brief.",
    "maxSteps": 8,
}
KEYS = {"OPENAI_API_KEY": "key-o", "ANTHROPIC_API_KEY": "key-a", "GROQ_API_KEY": "key-g"}


def home(folder: Path, **fields: Any) -> TrialHome:
    """A home with one agent, in force."""
    loaded = parsed({**AGENT, **fields})
    return TrialHome(
        settings=Settings(home=folder), environ=KEYS, agents=loaded.file, prompts=PromptSet()
    )


def part(**settings: Any) -> RecordedPart:
    """A recorded part of the agent, with these settings of its worker."""
    recorded: JsonObject = {"agent_id": "work", "llm_provider": "openai", "model": "gpt-5"}
    return replayed("Hi.").parts[0].model_copy(update={"settings": {**recorded, **settings}})


def spec(folder: Path, own: RecordedPart, model: str, *, called: bool = True) -> LaunchSpec:
    """The worker of a trial of this model."""
    return build_trial_spec(home(folder), own, ModelOnTrial(name=model, called=called), folder)


def test_recorded_settings_count_and_not_those_of_today(tmp_path: Path) -> None:
    """Fields that are absent had their defaults; hooks never run."""
    found = spec(tmp_path, part(max_steps=2, hooks=["mine"], allow_hooks=True), "openai/gpt-5")
    assert (found.settings.max_steps, found.settings.temperature) == (2, 0.4)
    assert (found.settings.hooks, found.settings.hooks_dir) == ((), None)
    assert spec(tmp_path, part(), "openai/gpt-5").settings.max_steps == 8


def test_worker_may_call_the_tried_provider_alone(tmp_path: Path) -> None:
    """At the address that agents.json has for it now, with its key and no other."""
    own = spec(tmp_path, part(fallback_models=["groq/x"], small_model="groq/y"), "openai/gpt-5")
    assert {grant.provider for grant in own.grants} == {"openai"}
    assert {grant.secrets for grant in own.grants} == {("key-o",)}
    assert all(grant.url.startswith("http://127.0.0.1:1/") for grant in own.grants)
    other = spec(tmp_path, part(), "anthropic/claude-5")
    assert {grant.secrets for grant in other.grants} == {("key-a",)}
    assert "127.0.0.1" not in other.grants[0].url
    assert spec(tmp_path, part(), "openai/gpt-5", called=False).grants == ()


def test_provider_that_is_gone_cannot_be_tried(tmp_path: Path) -> None:
    """The message says where it has to be."""
    with pytest.raises(ConfigError, match="'mine' is gone"):
        spec(tmp_path, part(), "mine/model")


def test_rehearsal_keeps_the_rules_of_the_recorded_address(tmp_path: Path) -> None:
    """Whether the agent has an address now or not; nothing is sent there."""

    def rehearsed(own: RecordedPart, **fields: Any) -> str:
        now = home(tmp_path, **fields)
        asked = ModelOnTrial(name="openai/gpt-5")
        return build_trial_spec(now, own, asked, tmp_path).settings.base_url

    elsewhere, known = part(elsewhere="other"), part(elsewhere="groq")
    assert rehearsed(elsewhere) == AGENT["baseUrl"]
    assert rehearsed(part()) == ""
    assert rehearsed(elsewhere, baseUrl=None) == NOWHERE
    assert "groq" in rehearsed(known, baseUrl=None)


def test_tools_are_text_where_they_were(tmp_path: Path) -> None:
    """The record has a layer with them then."""
    plain = part()
    block = LayerRecord(name=TOOL_BLOCK, text="tools")
    record = plain.record.model_copy(update={"layers": (block, *plain.record.layers)})
    text = plain.model_copy(update={"record": record})
    assert spec(tmp_path, plain, "openai/gpt-5").settings.tool_calls == "auto"
    assert spec(tmp_path, text, "openai/gpt-5").settings.tool_calls == "text"


def test_changed_files_are_read_from_the_private_folder(tmp_path: Path) -> None:
    """After those of the home; files of other agents are not."""
    files = {
        "skills/travel/SKILL.md": "new",
        "personas/work/instructions.md": "I am new.",
        "personas/home/skills/x/SKILL.md": "other",
    }
    folder = tmp_path / "private"
    folder.mkdir()
    asked = ModelOnTrial(name="openai/gpt-5")
    found = build_trial_spec(home(tmp_path), part(), asked, folder, files)
    assert found.settings.skills_dirs[-1] == folder / "skills"
    assert not any("home" in path.parts for path in found.settings.skills_dirs)
    assert found.settings.persona_dir == folder / "personas"
    write_trial_files(folder, found, files)
    assert (folder / "skills/travel/SKILL.md").read_text("utf-8") == "new"
    assert (folder / "personas/work/instructions.md").read_text("utf-8") == "I am new."
    assert found.settings.system_prompt_path is not None
    assert found.settings.system_prompt_path.read_text("utf-8") == "Be brief."


def test_agents_file_under_trial_changes_its_fields_alone(tmp_path: Path) -> None:
    """Other fields stay as they were recorded."""
    now = home(tmp_path)
    tried = TrialHome(
        settings=now.settings,
        environ=now.environ,
        agents=home(tmp_path, temperature=1.5).agents,
        prompts=now.prompts,
        before=now.agents,
    )
    asked = ModelOnTrial(name="openai/gpt-5")
    found = build_trial_spec(tried, part(max_steps=2), asked, tmp_path).settings
    assert (found.temperature, found.max_steps) == (1.5, 2)
