"""Definitions that include each other, in every form."""

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

from fuzzing.target import Target
from hypothesis import strategies as st
from pydantic import TypeAdapter

from thinker.formats.prompts.problem import (
    CircularIncludeError,
    DefinitionError,
    UnknownPromptError,
)
from thinker.formats.prompts.registry import Registry, order_includes
from thinker.formats.prompts.sources import (
    IncludePart,
    LayeredSource,
    SlotSource,
    Source,
    TextPart,
    list_included_names,
)
from thinker.prompt.render.bind import bind_variables
from thinker.prompt.render.layouts import render_markdown
from thinker.prompt.render.lower import MAX_SECTIONS, lower_definition

SOURCES: TypeAdapter[dict[str, Source]] = TypeAdapter(dict[str, Source])
NAMES = st.sampled_from([f"p{number}" for number in range(8)])
WORDS = st.text(max_size=4)
INCLUDE = st.builds(lambda name: {"type": "include", "prompt": name}, NAMES)
TEXT = st.builds(lambda words: {"type": "text", "content": words}, WORDS)
LINES = st.lists(WORDS | INCLUDE, max_size=3)
PARTS = st.lists(TEXT | INCLUDE, max_size=4)
LAYERED = st.fixed_dictionaries(
    {"identity": st.just("x") | INCLUDE},
    optional={"safety": LINES, "domain_knowledge": INCLUDE | WORDS, "examples": INCLUDE},
).map(lambda layers: {"layered": layers})
SLOTS = st.builds(
    lambda slots, parent: {"slots": slots, **parent},
    st.fixed_dictionaries(
        {"system": WORDS | INCLUDE},
        optional={"info": INCLUDE | st.dictionaries(WORDS, WORDS, max_size=2), "extra": INCLUDE},
    ),
    st.just({}) | st.builds(lambda name: {"parent": name}, NAMES),
)
WRITTEN = st.dictionaries(NAMES, WORDS | PARTS | LAYERED | SLOTS, max_size=8)
RESOLVED = 300  # definitions of which a chain, a comb or a lattice is made at the smaller size


def check_includes(given: tuple[dict[str, Any], str]) -> None:
    """Text, or the error that fits; of strings and parts the text is that of the seed's words."""
    written, root = given
    sources = SOURCES.validate_python(written)
    for name in sources:
        Registry(prompts=sources).validate_definition(
            {"name": name, "toolDescription": "d", "model": "inherit", "prompt": written[name]}
        )
    try:
        reached = order_includes(sources, root)
    except CircularIncludeError as error:
        _check_circle(sources, error.path)
        return
    except UnknownPromptError as error:
        _check_unknown(sources, error.name)
        return
    assert reached[-1] == root
    try:
        found = render_markdown(bind_variables(lower_definition(sources, root), {}))
    except DefinitionError:
        assert any(isinstance(sources[name], SlotSource) for name in reached)
        return
    if not any(isinstance(sources[name], LayeredSource | SlotSource) for name in reached):
        assert found == by_recursion(sources, root)


def _check_unknown(sources: Mapping[str, Source], name: str) -> None:
    assert name not in sources


def _check_circle(sources: Mapping[str, Source], path: tuple[str, ...]) -> None:
    assert path[0] == path[-1]
    for here, there in pairwise(path):
        assert there in list_included_names(sources[here])


def by_recursion(sources: Mapping[str, Source], name: str) -> str:
    """The seed's own words as a program: recursive, in place, no separator."""
    source = sources[name]
    if isinstance(source, str):
        return source
    assert isinstance(source, tuple)
    return "".join(
        part.content if isinstance(part, TextPart) else by_recursion(sources, part.prompt)
        for part in source
        if isinstance(part, TextPart | IncludePart)
    )


def _sized(shape: tuple[str, str], size: int) -> Callable[[], object]:
    """Definitions in one of the shapes that a resolver may take too long for."""
    kind, words = shape
    count = size * RESOLVED // MAX_SECTIONS
    sources: dict[str, Any] = {f"p{count}": words}
    for number in range(count):
        after = [f"p{number + 1}"] if kind == "chain" else [f"p{number + 1}", f"p{count}"]
        parts: list[Any] = [IncludePart(prompt=name) for name in after]
        sources[f"p{number}"] = (*parts, TextPart(content=words))
    if kind == "comb":
        leaves = (IncludePart(prompt=f"p{count}"),) * count
        sources = {"p0": leaves, f"p{count}": words}
    return lambda: render_markdown(bind_variables(lower_definition(sources, "p0"), {}))


TARGETS = {
    "includes": Target(
        st.tuples(WRITTEN, NAMES),
        check_includes,
        st.tuples(st.sampled_from(("chain", "comb", "ladder")), WORDS),
        _sized,
    )
}
