"""The cached layout: each request of a session begins with the whole request before it."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import orjson
from fakes.scripted import NOON, MemoryHost, ScriptedModel, call, calls, says, spec, turn_run
from hypothesis import given
from hypothesis import strategies as st

from thinker.agent import Agent
from thinker.history import BATCH_CHARACTERS
from thinker.models.base import ModelRequest
from thinker.models.failures import Account
from thinker.models.openai_chat import build_request_body
from thinker.protocol.env import ThinkerSettings
from thinker.protocol.messages import LayerRecord, Message, ToolResult, ToolSpec, UserMessage
from thinker.protocol.methods import Memory, TurnRun
from thinker.protocol.prompt_record import PromptRecord
from thinker.protocol.providers import PROVIDERS

LOOK = spec("look", q="string")
CACHED = ThinkerSettings(prompt_layout="cached")
SAID = st.text("abc </context>", min_size=1).filter(str.strip)


def sent(request: ModelRequest) -> bytes:
    """Return a request up to the end of its messages, as sent."""
    account = Account(PROVIDERS["openai"], "m")
    body = build_request_body(account, replace(request, on_text=None))
    return orjson.dumps(body).partition(b'],"temperature"')[0]


async def chat(
    agent: Agent, model: ScriptedModel, turns: Sequence[TurnRun]
) -> tuple[list[ModelRequest], list[PromptRecord]]:
    """Run turns one after the other, each with the history that the journal would return."""
    history: list[Message] = []
    records = []
    for turn in turns:
        host = MemoryHost()
        await agent.run_turn(turn.model_copy(update={"history": tuple(history)}), host)
        record = host.commits[0].step.prompt
        assert record is not None
        records.append(record)
        *others, newest = turn.messages
        history += [*others, newest.model_copy(update={"context": record.context})]
        for step in host.recorded():
            history.append(step.response)
            history += [made.result for made in step.calls if made.result is not None]
    return model.requests, records


@given(
    st.lists(
        st.tuples(SAID, st.booleans(), st.integers(0, 2), st.sampled_from("xyz"), st.integers(0, 3))
    )
)
async def test_a_request_begins_with_the_whole_request_before_it(
    inputs: list[tuple[str, bool, int, str, int]],
) -> None:
    """Whatever is said, remembered, summarized and looked up meanwhile, and however late it is."""
    turns = [
        turn_run(
            text,
            LOOK,
            started_at=NOON + 60 * number,
            memories=(
                *(Memory(fact=f"f{n}", category="c") for n in range(facts)),
                *(Memory(fact=f"k{n}", category="c", standing=True) for n in range(known)),
            ),
            summary=summary,
        )
        for number, (text, _, facts, summary, known) in enumerate(inputs)
    ]
    script = []
    for number, (_, looks, *_) in enumerate(inputs):
        script += [calls(call(f"c{number}", "look", q="x"))] if looks else []
        script.append(says("so"))
    model = ScriptedModel(*script)
    requests, _ = await chat(Agent(CACHED, model), model, turns)
    wire = [sent(request) for request in requests]
    assert all(later.startswith(earlier) for earlier, later in pairwise(wire))


async def test_layers_that_change_stand_at_the_head_of_the_newest_message(tmp_path: Path) -> None:
    """In the order of the layers; text that an earlier message contains is not repeated."""
    prompt = tmp_path / "prompt.txt"
    prompt.write_text("You are A.", "utf-8")
    model = ScriptedModel(says("1"), says("2"))
    agent = Agent(
        ThinkerSettings(
            prompt_layout="cached", system_prompt_path=prompt, user_timezone="America/New_York"
        ),
        model,
    )
    known = {"summary": "Boats.", "memories": (Memory(fact="F", category="c"),)}
    turns = [
        turn_run("one </context>", started_at=NOON, **known),
        turn_run("two", started_at=NOON + 60, **known),
    ]
    (first, second), (_, record) = await chat(agent, model, turns)
    assert first.system == second.system == "You are A.\n\n## Current Chat\nchat_id: 123456789"
    (message,) = first.messages
    assert isinstance(message, UserMessage)
    day = "Thursday, February 12, 2026"
    assert message.text == (
        f"<context>\n## Current Date & Time\n{day}, 14:30 (America/New_York)\n\n"
        "## Previous Conversation Context\nBoats.\n\n"
        "Relevant memories about the user:\n- F (c)\n</context>\n\none </context>"
    )
    newest = second.messages[-1]
    assert isinstance(newest, UserMessage)
    assert newest.text == (
        f"<context>\n## Current Date & Time\n{day}, 14:31 (America/New_York)\n</context>\n\ntwo"
    )
    assert [layer.name for layer in record.layers if layer.standing] == ["summary", "memories"]


async def test_card_is_sent_once_and_again_after_it_has_changed() -> None:
    """Beside other facts, which come and go; what was sent before stays as it was."""
    one, two = (Memory(fact=fact, category="c", standing=True) for fact in ("one", "two"))
    fits = Memory(fact="fits", category="c")
    shown = [(one,), (fits, one), (one,), (two, one), (two, one)]
    turns = [
        turn_run(str(number), started_at=NOON + 60 * number, memories=memories)
        for number, memories in enumerate(shown)
    ]
    model = ScriptedModel(*map(says, "abcde"))
    requests, records = await chat(Agent(CACHED, model), model, turns)
    wire = [sent(request) for request in requests]
    assert all(later.startswith(earlier) for earlier, later in pairwise(wire))
    standing = [[one.standing for one in record.layers if one.name == "card"] for record in records]
    assert standing == [[False], [True], [True], [False], [True]]
    assert wire[-1].count(b"What you know about the user:") == 2


async def test_turn_that_goes_on_is_sent_the_context_that_it_was_sent() -> None:
    """Even if the memories have changed since."""
    context = (LayerRecord(name="memories", text="old", volatile=True),)
    model = ScriptedModel(says("so"))
    turn = turn_run("hi", context=context, memories=(Memory(fact="new", category="c"),))
    await Agent(CACHED, model).run_turn(turn, MemoryHost())
    (message,) = model.requests[0].messages
    assert isinstance(message, UserMessage)
    assert message.text == "<context>\nold\n</context>\n\nhi"


async def test_the_other_layout_sends_the_history_without_contexts() -> None:
    """An agent switched back to that layout must not be sent outdated times."""
    context = (LayerRecord(name="date_time", text="old", volatile=True),)
    model = ScriptedModel(says("so"))
    past = (UserMessage(content="before", context=context),)
    await Agent(ThinkerSettings(), model).run_turn(turn_run("hi", history=past), MemoryHost())
    assert model.requests[0].messages == (
        UserMessage(content="before"),
        UserMessage(content="hi"),
    )
    assert model.requests[0].cache_key == ""


def test_long_results_are_shortened_in_whole_pieces() -> None:
    """The newest two stay whole, and older ones until they fill a piece."""
    half = "x" * (BATCH_CHARACTERS // 2)
    past: list[Message] = []
    for number in range(6):
        past.append(calls(call(f"c{number}", "look", q="x")).message)
        past.append(ToolResult(call_id=f"c{number}", name="look", content=half))
        agent = Agent(CACHED, ScriptedModel())
        shown = agent.preparation.prepare_turn(turn_run("hi", history=tuple(past))).messages
        cut = [m.content != half for m in shown if isinstance(m, ToolResult)]
        whole = (number + 1) - 2 * (max(0, number - 1) // 2)
        assert cut == [True] * (number + 1 - whole) + [False] * whole


def test_tools_of_the_turn_before_stay_on_offer() -> None:
    """Otherwise each text would change the tools, and with them every byte of the request."""
    tools: list[ToolSpec] = [spec(f"tool_{n:02}") for n in range(60)]
    agent = Agent(CACHED, ScriptedModel())
    first = agent.preparation.prepare_turn(turn_run("use tool_07", *tools)).prompt
    assert len(first.tools) < len(tools)
    kept = agent.preparation.prepare_turn(turn_run("hi", *tools, offered=first.tools)).prompt
    assert kept.tools == first.tools
    assert kept.stable == first.stable
