"""Tools by the embedding of a message: scores, the merged order, the temperature."""

import pytest
from fakes.embeddings_api import vector
from hypothesis import given
from hypothesis import strategies as st

from thinker.protocol.messages import ToolSpec
from thinker.protocol.vectors import pack_vector
from thinker.toolcalls.ranking import Ranking
from thinker.toolcalls.select import Selection, choose_temperature, merge_rankings, select_tools
from thinker.toolcalls.tool_vectors import ToolVectors

NAMES = st.lists(st.sampled_from("abcdefgh"), unique=True)
TOOLS = [
    ToolSpec(name=name, description=description, parameters={})
    for name, description in (
        ("sky", "The meteorological forecast"),
        ("kettle", "Makes tea"),
        *((f"other_{number:02}", "Does something") for number in range(30)),
    )
]


def offer(text: str, scores: dict[str, float], cap: int = 3) -> Selection:
    """Select with a new ranking."""
    return select_tools(
        TOOLS, text, required={}, recent=(), ranking=Ranking(), scores=scores, cap=cap
    )


def test_tool_that_shares_no_word_is_found_by_its_meaning() -> None:
    """The reason gives the score."""
    vectors = ToolVectors()
    texts = [tool.embedding_text for tool in TOOLS]
    vectors.store_vectors(texts, [pack_vector(vector(text)) for text in texts])
    scores = vectors.compute_scores(TOOLS, pack_vector(vector("umbrella?")))
    assert max(scores, key=lambda name: scores[name]) == "sky"
    assert offer("umbrella?", scores).reasons["sky"] == "meaning 1.00"
    assert "sky" not in offer("umbrella?", {}).reasons


def test_words_and_meaning_both_bring_tools() -> None:
    """Matches of either are offered; irrelevant tools are not."""
    reasons = offer("makes tea", {"sky": 0.5, "kettle": 0.2, "other_01": 0.1}).reasons
    assert reasons == {"sky": "meaning 0.50", "kettle": "matched, rank 1"}


def test_forgotten_description_has_no_score() -> None:
    """The cache is bounded and drops the least recently used."""
    vectors, meaning = ToolVectors(size=2), pack_vector([1.0, 0.0])
    sky, kettle, other = TOOLS[:3]
    vectors.store_vectors([sky.embedding_text, kettle.embedding_text], [meaning, meaning])
    assert vectors.compute_scores([sky], meaning) == {"sky": 1.0}
    vectors.store_vectors([other.embedding_text], [meaning])
    assert set(vectors.compute_scores(TOOLS, meaning)) == {"sky", "other_00"}


def test_changed_description_is_another_text() -> None:
    """A tool may be changed while its agent runs."""
    vectors, meaning = ToolVectors(), pack_vector([1.0, 0.0])
    vectors.store_vectors([TOOLS[0].embedding_text], [meaning])
    changed = TOOLS[0].model_copy(update={"description": "Something else"})
    assert vectors.compute_scores([changed], meaning) == {}


@pytest.mark.parametrize(
    ("configured", "scores", "expected"),
    [
        (0.7, {"a": 0.61, "b": 0.1}, 0.3),
        (0.7, {"a": 0.6}, 0.7),
        (0.1, {"a": 0.9}, 0.1),
        (0.7, {}, 0.7),
    ],
)
def test_temperature_drops_when_a_tool_is_surely_meant(
    configured: float, scores: dict[str, float], expected: float
) -> None:
    """Above a score of 0.6, to at most 0.3."""
    assert choose_temperature(configured, scores) == expected


@given(NAMES, NAMES)
def test_merged_order_holds_everything_once(one: list[str], other: list[str]) -> None:
    """The first in both is first; a single order stays as it is."""
    both = merge_rankings(one, other)
    assert sorted(both) == sorted({*one, *other})
    assert merge_rankings(one, []) == merge_rankings([], one) == merge_rankings(one, one) == one
    if one and other and one[0] == other[0]:
        assert both[0] == one[0]


@given(st.dictionaries(st.sampled_from([tool.name for tool in TOOLS]), st.floats(-1, 1)))
def test_any_scores_keep_the_offer_bounded_and_reasoned(scores: dict[str, float]) -> None:
    """Whatever numbers an endpoint sends."""
    found = offer("makes tea", scores, cap=7)
    assert [tool.name for tool in found.tools] == sorted(found.reasons)
    assert len(found.tools) <= 7
