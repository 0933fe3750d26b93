"""One turn of an agent: its prompt, its tools, and files edited meanwhile."""

from pathlib import Path

import pytest
import structlog
from fakes.scripted import MemoryHost, ScriptedModel, call, calls, says, spec, turn_run
from structlog.testing import capture_logs

from thinker.agent import Agent
from thinker.prompt.base_prompt import BUILT_IN
from thinker.protocol import logs
from thinker.protocol.env import ThinkerSettings
from thinker.protocol.messages import AssistantMessage, Reasoning, UserMessage
from thinker.protocol.methods import Memory, RequestOptions, StopReason, TurnRun
from thinker.protocol.notices import STOP_TEXTS

MEMORIES = tuple(Memory(fact=f"Fact {n}", category="background") for n in range(1, 8))

INTERACTIVE = """\
You are A.

## Workflow Guidance
Follow these steps when relevant:

### Playbook: email-triage
1. Call gmail_get_new_emails...
2. For each email...

<available_skills>
  <skill>
    <name>code-review</name>
    <description>Reviews code &lt;fast&gt;</description>
  </skill>
</available_skills>

## Current Date & Time
Thursday, February 12, 2026, 14:30 (America/New_York)

## Current Chat
chat_id: 123456789

## Previous Conversation Context
They spoke of boats.

Relevant memories about the user:
- Fact 1 (background)
- Fact 2 (background)
- Fact 3 (background)
- Fact 4 (background)
- Fact 5 (background)"""

PROACTIVE = """\
You are A.

## Current Date & Time
Thursday, February 12, 2026, 14:30 (America/New_York)

## Current Task
You are executing an autonomous scheduled task. There is no user message —
follow the instructions below as your goal. Complete the task step by step,
using your available tools. When done, provide a brief summary of what you
accomplished.

Relevant memories:
- Fact 1
- Fact 2
- Fact 3
- Fact 4
- Fact 5"""


def write_skill(root: Path, name: str, description: str, body: str, keywords: str = "") -> None:
    """Write a SKILL.md; with keywords it is a playbook that needs a tool."""
    path = root / "skills" / name / "SKILL.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    metadata = (
        f"metadata:\n  keywords: [{keywords}]\n  required_tools: [gmail, gone]\n"
        if keywords
        else ""
    )
    head = f"---\nname: {name}\ndescription: {description}\n{metadata}---\n"
    path.write_text(f"{head}{body}\n", "utf-8")


def settings(root: Path, **fields: object) -> ThinkerSettings:
    """An agent with a prompt file, a playbook and a listed skill."""
    (root / "prompt.txt").write_text("You are A.", "utf-8")
    steps = "1. Call gmail_get_new_emails...\n2. For each email..."
    write_skill(root, "email-triage", "Sorts mail", steps, "email")
    write_skill(root, "code-review", "Reviews code <fast>", "Read it.")
    return ThinkerSettings.model_validate(
        {"system_prompt_path": root / "prompt.txt", "skills_dirs": (root / "skills",), **fields}
    )


def agent(root: Path, model: ScriptedModel | None = None, **fields: object) -> Agent:
    """The agent of `settings`."""
    return Agent(settings(root, **fields), model or ScriptedModel())


def turn(**fields: object) -> TurnRun:
    """A turn that calls for the playbook and brings context of every kind."""
    past = (UserMessage(content="hi"), AssistantMessage(content="hello"))
    context = {"history": past, "summary": "They spoke of boats.", "memories": MEMORIES}
    return turn_run("any new email?", **{**context, **fields})


async def test_interactive_turn_has_every_layer_of_the_seed(tmp_path: Path) -> None:
    """Byte for byte, in order, and the same in the journal as for the model."""
    model, host = ScriptedModel(says("None.")), MemoryHost()
    result = await agent(tmp_path, model).run_turn(turn(), host)
    assert result.text == "None."
    assert model.requests[0].system == INTERACTIVE
    prompt = host.commits[0].step.prompt
    assert prompt is not None
    assert prompt.text == INTERACTIVE
    texts = [message.content for message in model.requests[0].messages]
    assert texts == ["hi", "hello", "any new email?"]


async def test_proactive_turn_has_its_own_layers_and_no_history(tmp_path: Path) -> None:
    """The instructions are the only user message; no playbook, skill, chat or summary."""
    model = ScriptedModel(says("Done."))
    await agent(tmp_path, model).run_turn(turn(recipe="proactive"), MemoryHost())
    assert model.requests[0].system == PROACTIVE
    assert model.requests[0].messages == (UserMessage(content="any new email?"),)


async def test_task_has_its_own_tools_and_steps(tmp_path: Path) -> None:
    """The task names its tools and replaces the agent's step limit."""
    model = ScriptedModel(calls(call("c1", "gmail")), says("Half done."))
    one = agent(tmp_path, model)
    offered = (spec("gmail"), spec("other"))
    task = turn(recipe="proactive", tools=offered, required_tools=("gmail", "gone"), max_steps=2)
    prepared = one.preparation.prepare_turn(task)
    assert [tool.name for tool in prepared.tools] == ["gmail"]
    assert prepared.prompt.missing == {"gone": "the task"}
    assert (
        one.preparation.prepare_turn(
            turn(recipe="proactive", tools=offered, required_tools=())
        ).tools
        == ()
    )
    assert (await one.run_turn(task, MemoryHost())).stop_reason is StopReason.MAX_STEPS


@pytest.mark.parametrize(
    ("recipe", "prompt"), [("interactive", INTERACTIVE), ("proactive", PROACTIVE)]
)
def test_profile_replaces_the_base_prompt_in_both_recipes(
    tmp_path: Path, recipe: str, prompt: str
) -> None:
    """In a chat and in a scheduled task."""
    text = (
        agent(tmp_path)
        .preparation.prepare_turn(turn(recipe=recipe, profile_prompt="You are B."))
        .prompt.text
    )
    assert text == prompt.replace("You are A.", "You are B.")


def test_edited_skill_and_prompt_are_live_at_the_next_turn(tmp_path: Path) -> None:
    """No restart, no signal: the next turn reads what people saved."""
    one = agent(tmp_path)
    one.preparation.prepare_turn(turn())
    write_skill(tmp_path, "email-triage", "Sorts mail", "1. Ask first, always.", "email")
    write_skill(tmp_path, "email-rules", "Rules", "2. Be brief.", "email")
    (tmp_path / "prompt.txt").write_text("You are the new A.", "utf-8")
    text = one.preparation.prepare_turn(turn()).prompt.text
    assert text.startswith("You are the new A.\n\n")
    assert "1. Ask first, always." in text
    assert "### Playbook: email-rules\n2. Be brief." in text


def test_tools_of_a_matched_playbook_are_offered_beyond_the_cap(tmp_path: Path) -> None:
    """Required tools come on top; what the model is offered is what the journal records."""
    many = tuple(spec(f"email_{number}") for number in range(40))
    prepared = agent(tmp_path).preparation.prepare_turn(turn(tools=(*many, spec("gmail"))))
    names = tuple(tool.name for tool in prepared.tools)
    assert "gmail" in names
    assert len(names) == 26
    assert prepared.prompt.tools == names


def test_each_warning_is_logged_once(tmp_path: Path) -> None:
    """A missing tool, an unknown time zone, a broken skill: logged once, not per turn."""
    one = agent(tmp_path, user_timezone="Mars/Base")
    (tmp_path / "skills" / "broken").mkdir()
    (tmp_path / "skills" / "broken" / "SKILL.md").write_text("no front matter", "utf-8")
    with capture_logs() as events:
        one.preparation.prepare_turn(turn())
        one.preparation.prepare_turn(turn())
    problems = [entry["problem"] for entry in events if entry["event"] == "prompt_problem"]
    assert len(problems) == 4
    for part in ("'gone' of 'email-triage'", "'gmail' of 'email-triage'", "Mars/Base", "broken"):
        assert [part in problem for problem in problems].count(True) == 1


def test_prompt_size_is_logged_without_the_prompt(tmp_path: Path) -> None:
    """Sizes by layer and the source of the base prompt, but no text."""
    with capture_logs() as events:
        agent(tmp_path).preparation.prepare_turn(turn()).log_sizes()
    (size,) = (entry for entry in events if entry["event"] == "prompt_size")
    assert (size["base"], size["chars"]) == ("custom", len(INTERACTIVE))
    assert size["layers"]["base"] == len("You are A.")
    assert "boats" not in str(events)


async def test_agent_without_any_file_still_answers(tmp_path: Path) -> None:
    """A missing prompt falls through to the built-in sentence, with a warning."""
    bare = ThinkerSettings.model_validate({"system_prompt_path": tmp_path / "missing"})
    model = ScriptedModel(says("Hi."))
    with capture_logs() as events:
        result = await Agent(bare, model).run_turn(turn_run(), MemoryHost())
    assert result.text == "Hi."
    assert model.requests[0].system.startswith(BUILT_IN)
    assert "missing" in next(e for e in events if e["event"] == "prompt_problem")["problem"]


async def test_settings_reach_the_loop(tmp_path: Path) -> None:
    """Steps, tokens and temperature are the agent's own."""
    look = calls(call("a", "look"))
    model = ScriptedModel(look)
    one = agent(tmp_path, model, max_steps=5, max_tokens_per_turn=1, temperature=0.9)
    result = await one.run_turn(turn_run("go", spec("look")), MemoryHost())
    assert (result.stop_reason, result.text) == (
        StopReason.MAX_TOKENS,
        STOP_TEXTS[StopReason.MAX_TOKENS],
    )
    assert model.requests[0].temperature == 0.9


async def test_effort_of_a_message_counts_before_the_agents(tmp_path: Path) -> None:
    """A level or a budget; the prompt's record says which was asked for."""
    model = ScriptedModel(says("a"), says("b"), says("c"))
    one, host = agent(tmp_path, model, effort="low"), MemoryHost()
    await one.run_turn(turn_run(), host)
    await one.run_turn(turn_run(asked=RequestOptions(effort=2000)), host)
    asked = [request.reasoning for request in model.requests]
    assert asked == [Reasoning(effort="low"), Reasoning(max_tokens=2000)]
    records = [made.step.prompt for made in host.commits]
    kept = [record and record.settings and record.settings.reasoning for record in records]
    assert kept == asked
    await agent(tmp_path, model).run_turn(turn_run(), host)
    assert model.requests[-1].reasoning is None


async def test_resumed_turn_is_given_the_same_prompt(tmp_path: Path) -> None:
    """The prompt's clock is the turn's start, not the process's."""
    look = calls(call("a", "look"))
    before, first = MemoryHost(drain_after=1), ScriptedModel(look)
    await agent(tmp_path, first).run_turn(turn(tools=(spec("look"),)), before)
    recorded = before.recorded()
    second = ScriptedModel(says("done"))
    again = turn(tools=(spec("look"),), steps=recorded)
    result = await agent(tmp_path, second).run_turn(again, before.resumed(recorded))
    assert (result.text, result.tools_used) == ("done", ("look",))
    assert second.requests[0].system == first.requests[0].system


def test_file_name_that_is_no_utf8_is_reported_and_harms_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A log line that JSON cannot hold must not end the turn."""
    one = agent(tmp_path)
    broken = tmp_path / "skills" / "caf\udce9"
    broken.mkdir()
    (broken / "SKILL.md").write_text("no front matter", "utf-8")
    logs.configure_logging("warning")
    try:
        one.preparation.prepare_turn(turn(tools=(spec("gmail"), spec("gone"))))
    finally:
        structlog.reset_defaults()
    assert "caf?" in capsys.readouterr().err
