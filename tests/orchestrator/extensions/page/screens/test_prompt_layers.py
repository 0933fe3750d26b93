"""What a model saw, beside the turn before."""

from fakes.screens import html, request

from orchestrator.extensions.page.reads.prompt_comparison import (
    HistoryMessage,
    PromptComparison,
    SentHistory,
)
from orchestrator.extensions.page.reads.turn_timeline import ModelCost
from orchestrator.extensions.page.screens import prompt_layers
from orchestrator.journal.inspect.trace import RecordedPrompt
from thinker.protocol.messages import LayerRecord, ToolSpec
from thinker.protocol.prompt_record import PromptRecord


def sent(turn: str, tools: tuple[str, ...] = ("read",), **texts: str) -> RecordedPrompt:
    """A prompt of these layers."""
    layers = tuple(LayerRecord(name=name, text=text) for name, text in texts.items())
    record = PromptRecord(layers=layers, tools=tools, reasons={"read": "always"})
    return RecordedPrompt(turn_id=turn, at=0, prompt=record)


OLD = sent("t1", base="Be brief.\nBe kind.", skills="a")
NEW = sent("t2", base="Be brief.\nBe exact.", memory="<script>")
USED = ModelCost("m", 1000, 0, 200, 0.01)


def test_first_part_that_changed_is_what_broke_the_cache() -> None:
    """With what was sent anew, and its price."""
    shown = prompt_layers.describe_cache_break(
        PromptComparison(NEW, OLD, USED, []), list(prompt_layers.compare_prompts(NEW, OLD))
    )
    assert shown == (
        "“base” is changed: all after it was new to a cache. 800 tokens were not cached,"
        " about $0.0080. The provider's cache had 200 of 1\u202f000 tokens (20 %)."
    )


def test_parts_are_new_gone_changed_or_the_same() -> None:
    """Tools are a part."""
    found = {part.name: part.change for part in prompt_layers.compare_prompts(NEW, OLD)}
    assert found == {"tools": "same", "base": "changed", "memory": "new", "skills": "gone"}
    alone = {part.change for part in prompt_layers.compare_prompts(NEW, None)}
    assert alone == {"first"}


def test_lines_that_changed_are_marked_and_nothing_of_them_runs() -> None:
    """A line for each turn shows where it broke."""
    found = PromptComparison(NEW, OLD, None, [OLD, NEW], agent_id="home", newer="t3")
    page = html(prompt_layers.render_prompt(request(), found).content)
    assert "<del>- Be kind.</del>" in page
    assert "<ins>+ Be exact.</ins>" in page
    assert 'href="/agents/home">Edit' in page
    assert 'href="/turns/t2/prompt?with=t1"' in page
    assert "<script>" not in page
    assert "Across turns" in page
    assert "read: always" in page


def test_definitions_of_tools_and_the_history_are_parts_with_sizes() -> None:
    """They are what a prompt mostly consists of."""
    tool = ToolSpec(name="read", description="Read a file", parameters={"type": "object"})
    history = SentHistory([HistoryMessage(7, "user", "hello", 40)], 3, 120)
    prompt = NEW.model_copy(update={"history": (5, 7)})
    found = PromptComparison(prompt, None, None, [], tools={"read": tool}, history=history)
    tools, past = (
        next(part for part in prompt_layers.compare_sent_prompts(found) if part.name == name)
        for name in ("tools", "history")
    )
    assert (tools.characters, tools.tokens) == (74, 19)
    assert "Read a file" in tools.text
    assert (past.characters, past.tokens) == (120, 30)
    assert past.text.splitlines() == [
        "from message 5 of the journal",
        "… 2 older ones",
        "7 user, about 10 tokens: hello",
        "to message 7",
    ]


def test_history_that_grows_breaks_no_cache() -> None:
    """Nor does the first one; one that begins later does."""
    for before, first, change in (((1, 4), 1, "grew"), (None, 1, "grew"), ((1, 4), 3, "changed")):
        old = OLD.model_copy(update={"history": before})
        new = OLD.model_copy(update={"turn_id": "t3", "history": (first, 6)})
        parts = list(prompt_layers.compare_prompts(new, old))
        assert {part.name: part.change for part in parts}["history"] == change
        said = prompt_layers.describe_cache_break(PromptComparison(new, old, None, []), parts)
        assert ("Nothing before the newest message changed" in said) is (change == "grew")


def test_name_that_no_turn_has_is_answered_with_a_sentence() -> None:
    """It is beside the turn before."""
    found = PromptComparison(NEW, OLD, None, [], unknown="<b>")
    shown = prompt_layers.render_prompt(request(), found)
    assert "No turn with a prompt has the id “&lt;b&gt;”" in html(shown.content)
    assert "beside turn" in html(shown.lead)


def test_tools_are_read_with_their_parameters_and_what_changed() -> None:
    """A tool that is new or described anew says so."""
    now = ToolSpec(
        name="read",
        description="Read a file",
        parameters={"type": "object", "properties": {"path": {"type": "string"}}},
    )
    before = now.model_copy(update={"description": "Read"})
    found = PromptComparison(NEW, OLD, None, [], tools={"read": now}, other_tools={"read": before})
    page = html(prompt_layers.render_prompt(request(), found).content)
    assert "<ins>+ Read a file</ins>" in page
    assert "<dt>path</dt>" in page
