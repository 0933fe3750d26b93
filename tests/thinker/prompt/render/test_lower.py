"""Includes: inserted in place, nested, shared; circles and unknown names are refused."""

from collections.abc import Mapping

import pytest
from fuzzing.includes import SOURCES

from thinker.formats.prompts.problem import (
    CircularIncludeError,
    PromptTooLargeError,
    UnknownPromptError,
)
from thinker.prompt.render.layouts import markdown
from thinker.prompt.render.lower import MAX_SECTIONS, lower


def text(sources: Mapping[str, object], root: str = "a") -> str:
    """The prompt ``root`` as it is sent."""
    return markdown(lower(SOURCES.validate_python(sources), root))


def include(name: str) -> dict[str, str]:
    """An include part as it stands in a file."""
    return {"type": "include", "prompt": name}


def test_parts_follow_each_other_with_nothing_between() -> None:
    """The included text stands exactly where the part stood."""
    parts = [{"type": "text", "content": "x"}, include("b"), {"type": "text", "content": "\nz"}]
    assert text({"a": parts, "b": "y"}) == "xy\nz"


def test_text_is_never_interpolated_or_read_again() -> None:
    """Braces, dollars and JSON in a text are just text."""
    words = '{{name}} ${x} [{"type": "text"}]'
    assert text({"a": [{"type": "text", "content": words}]}) == words
    assert text({"a": words}) == words


def test_layered_prompts_and_parts_include_each_other() -> None:
    """Every form stands in every other: words, lines, structure, parts."""
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


def test_circle_is_refused_with_its_path() -> None:
    """The error names every definition of the circle in order."""
    sources = {"a": [include("ok"), include("b")], "ok": "k", "b": [include("c")]}
    with pytest.raises(CircularIncludeError, match="b > c > b") as caught:
        text({**sources, "c": {"layered": {"identity": "x", "safety": [include("b")]}}})
    assert caught.value.path == ("b", "c", "b")


def test_unknown_include_is_refused_with_who_includes_it() -> None:
    """No placeholder ever reaches the model."""
    with pytest.raises(UnknownPromptError, match="prompt 'a' includes the unknown prompt 'x'"):
        text({"a": [include("x")]})
    with pytest.raises(UnknownPromptError, match="there is no prompt 'a'"):
        text({})


def test_includes_that_multiply_are_refused_before_they_are_written() -> None:
    """Twenty definitions that each include the next one twice would be a million copies."""
    sources: dict[str, object] = {f"p{n}": [include(f"p{n + 1}")] * 2 for n in range(40)}
    with pytest.raises(PromptTooLargeError, match="include less"):
        text({**sources, "p40": "x"}, "p0")
    assert text({**sources, "p40": ""}, "p0") == ""


def test_chain_of_thousands_is_no_recursion() -> None:
    """Depth costs no stack; each definition is lowered once."""
    length = MAX_SECTIONS // 2
    chain: dict[str, object] = {f"p{n}": [include(f"p{n + 1}")] for n in range(length)}
    assert text({**chain, f"p{length}": "end"}, "p0") == "end"
