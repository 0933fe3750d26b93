"""What two prompts have in common, and how they differ."""

from thinker.prompt.cached import compute_fingerprints
from thinker.protocol.messages import LayerRecord, ToolSpec
from thinker.protocol.prompt_record import PromptRecord

TOOL = ToolSpec(name="look", description="Looks", parameters={"type": "object"})


def prompt(base: str, date: str, *tools: ToolSpec) -> PromptRecord:
    """Return a prompt with one layer of each kind."""
    layers = (
        LayerRecord(name="base", text=base),
        LayerRecord(name="date_time", text=date, volatile=True),
    )
    stable, volatile, offer = compute_fingerprints(layers, tools)
    return PromptRecord(layers=layers, stable=stable, volatile=volatile, tools_digest=offer)


def test_what_changes_between_turns_leaves_the_stable_fingerprint() -> None:
    """The volatile fingerprint changes."""
    one, two = prompt("b", "noon", TOOL), prompt("b", "one", TOOL)
    assert one.stable == two.stable
    assert one.volatile != two.volatile
    assert two.find_differences(one) == ()


def test_what_differs_of_the_stable_part_is_named() -> None:
    """Changed, new or missing layers, and tools, including their descriptions."""
    other = TOOL.model_copy(update={"description": "Sees"})
    assert prompt("c", "noon", TOOL).find_differences(prompt("b", "noon", TOOL)) == ("base",)
    assert prompt("b", "noon", other).find_differences(prompt("b", "noon", TOOL)) == ("tools",)
    assert prompt("b", "noon").find_differences(PromptRecord(layers=())) == ()


def test_layouts_place_the_layers() -> None:
    """All in the system prompt, or the volatile ones in the message."""
    record = prompt("b", "noon")
    assert (record.text, record.context, record.chars) == ("b\n\nnoon", (), 7)
    cached = record.model_copy(update={"layout": "cached"})
    assert (cached.text, cached.context) == ("b", record.layers[1:])
