"""Vectors: normalized to length one, compared by direction."""

import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pydantic import ValidationError

from thinker.protocol.background import EmbeddingResult
from thinker.protocol.messages import Usage
from thinker.protocol.vectors import compute_cosines, compute_signs, pack_vector, unpack_vector

NUMBERS = st.lists(st.floats(-1e100, 1e100), min_size=3, max_size=40)


@given(NUMBERS)
def test_any_direction_is_packed_with_length_one(numbers: list[float]) -> None:
    """However large or small its numbers are."""
    assume(math.hypot(*numbers) > 0)
    assert math.hypot(*unpack_vector(pack_vector(numbers))) == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize(
    "numbers", [[], [0.0, 0.0], [math.nan, 1.0], [math.inf, 1.0], [1.7e308, 1.7e308]]
)
def test_numbers_without_a_direction_are_refused(numbers: list[float]) -> None:
    """Nothing could be compared with them."""
    with pytest.raises(ValueError, match="no direction"):
        pack_vector(numbers)


@given(NUMBERS, st.data())
def test_cosine_is_that_of_the_numbers(numbers: list[float], data: st.DataObject) -> None:
    """Between -1 and 1, symmetric, 1 with itself."""
    size = st.lists(st.floats(-1e3, 1e3), min_size=len(numbers), max_size=len(numbers))
    others = data.draw(size)
    assume(math.hypot(*numbers) > 0)
    assume(math.hypot(*others) > 0)
    one, other = pack_vector(numbers), pack_vector(others)
    (near,) = compute_cosines(one, [("x", other)]).values()
    expected = sum(a * b for a, b in zip(unpack_vector(one), unpack_vector(other), strict=True))
    assert near == pytest.approx(expected, abs=1e-4)
    assert compute_cosines(other, [("x", one)])["x"] == pytest.approx(near)
    assert compute_cosines(one, [("x", one)]) == {"x": 1.0}


def test_vector_of_another_length_is_left_out() -> None:
    """It comes from another model."""
    two, three = pack_vector([1.0, 0.0]), pack_vector([1.0, 0.0, 0.0])
    assert compute_cosines(two, [("two", two), ("three", three)]) == {"two": 1.0}


def test_signs_are_a_bit_for_each_number() -> None:
    """Set for negative numbers."""
    assert compute_signs(pack_vector([1.0, -1.0, 0.5, -3.0])) == bytes([0b0101])
    assert len(compute_signs(pack_vector([1.0] * 1536))) == 192


def test_vector_crosses_the_wire_as_base64() -> None:
    """A truncated one is rejected."""
    answer = EmbeddingResult(model="m", usage=Usage(), vectors=(pack_vector([3.0, 4.0]),))
    wire = answer.model_dump(mode="json")
    assert wire["vectors"] == ["mpkZP83MTD8="]
    assert EmbeddingResult.model_validate(wire) == answer
    for text in ("mpkZP83M", "?"):
        with pytest.raises(ValidationError):
            EmbeddingResult.model_validate({**wire, "vectors": [text]})
