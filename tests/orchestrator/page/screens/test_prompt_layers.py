"""What a model saw, beside the turn before."""

from fakes.screens import html, visit

from orchestrator.journal.inspect.prompt_course import SentBeside
from orchestrator.journal.inspect.trace import RecordedPrompt
from orchestrator.journal.inspect.turn_course import ModelCost
from orchestrator.page.screens import prompt_layers
from thinker.protocol.messages import LayerRecord
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
    shown = prompt_layers.blame(
        SentBeside(NEW, OLD, USED, []), list(prompt_layers.compared(NEW, OLD))
    )
    assert shown == (
        "“base” is changed: all after it was new to a cache. 800 tokens were not cached,"
        " about $0.0080. The provider's cache had 200 of 1\u2009000 tokens (20 %)."
    )


def test_parts_are_new_gone_changed_or_the_same() -> None:
    """Tools are a part."""
    found = {part.name: part.change for part in prompt_layers.compared(NEW, OLD)}
    assert found == {"tools": "same", "base": "changed", "memory": "new", "skills": "gone"}
    alone = {part.change for part in prompt_layers.compared(NEW, None)}
    assert alone == {"same"}


def test_lines_that_changed_are_marked_and_nothing_of_them_runs() -> None:
    """A line for each turn shows where it broke."""
    page = html(prompt_layers.draw(visit(), SentBeside(NEW, OLD, None, [OLD, NEW])))
    assert "<del>Be kind.\n</del>" in page
    assert "<ins>Be exact.\n</ins>" in page
    assert "<script>" not in page
    assert "Across turns" in page
    assert "read: always" in page
