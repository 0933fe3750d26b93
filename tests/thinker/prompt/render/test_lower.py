"""Includes are replaced by sections; circles and unknown names are refused."""

from collections.abc import Mapping

import pytest
from fuzzing.includes import SOURCES

from thinker.formats.prompts.problem import (
    CircularIncludeError,
    PromptTooLargeError,
    UnknownPromptError,
)
from thinker.prompt.render.layouts import render_markdown
from thinker.prompt.render.lower import MAX_SECTIONS, lower_definition


def text(sources: Mapping[str, object], root: str = "a") -> str:
    """Render the prompt ``root``."""
    return render_markdown(lower_definition(SOURCES.validate_python(sources), root))


def include(name: str) -> dict[str, str]:
    """Return an include part as a file holds it."""
    return {"type": "include", "prompt": name}


def test_parts_are_joined_without_a_separator() -> None:
    """The included text replaces the part."""
    parts = [{"type": "text", "content": "x"}, include("b"), {"type": "text", "content": "\nz"}]
    assert text({"a": parts, "b": "y"}) == "xy\nz"


def test_text_is_never_interpolated_or_parsed() -> None:
    """Braces, dollars and JSON in a text stay text."""
    words = '{{name}} ${x} [{"type": "text"}]'
    assert text({"a": [{"type": "text", "content": words}]}) == words
    assert text({"a": words}) == words


def test_layered_prompts_and_parts_include_each_other() -> None:
    """Text, lines, structured values and parts take includes."""
    sources = {
        "a": [{"type": "text", "content": "Intro. "}, include("layers")],
        "layers": {
            "layered": {
                "identity": include("who"),
                "safety": ["Ask first.", include("rule")],
                "domain_knowledge": include("who"),
            }
        },
        "who": [{"type": "text", "content": "You are "}, include("name")],
        "name": "Ada",
        "rule": "Be kind.",
    }
    assert text(sources) == (
        "Intro. # Identity\nYou are Ada\n\n# Domain Knowledge\nYou are Ada\n\n"
        "# Safety\n- Ask first.\n- Be kind."
    )


def test_circular_include_is_refused_with_its_path() -> None:
    """The error names every definition of the circle in order."""
    sources = {"a": [include("ok"), include("b")], "ok": "k", "b": [include("c")]}
    with pytest.raises(CircularIncludeError, match="b > c > b") as caught:
        text({**sources, "c": {"layered": {"identity": "x", "safety": [include("b")]}}})
    assert caught.value.path == ("b", "c", "b")


def test_unknown_include_is_refused_with_the_including_prompt() -> None:
    """No placeholder ever reaches the model."""
    with pytest.raises(UnknownPromptError, match="prompt 'a' includes the unknown prompt 'x'"):
        text({"a": [include("x")]})
    with pytest.raises(UnknownPromptError, match="there is no prompt 'a'"):
        text({})


def test_multiplying_includes_are_refused_early() -> None:
    """Twenty definitions that each include the next one twice would give a million copies."""
    sources: dict[str, object] = {f"p{n}": [include(f"p{n + 1}")] * 2 for n in range(40)}
    with pytest.raises(PromptTooLargeError, match="include less"):
        text({**sources, "p40": "x"}, "p0")
    assert text({**sources, "p40": ""}, "p0") == ""


def test_long_chain_of_includes_needs_no_recursion() -> None:
    """Each definition is lowered once."""
    length = MAX_SECTIONS // 2
    chain: dict[str, object] = {f"p{n}": [include(f"p{n + 1}")] for n in range(length)}
    assert text({**chain, f"p{length}": "end"}, "p0") == "end"
