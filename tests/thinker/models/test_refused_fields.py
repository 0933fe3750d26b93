"""Fields that a model refuses: left out for a day."""

from collections.abc import Mapping

from thinker.models.failures import FieldRefusedError
from thinker.models.refused_fields import REMEMBERED, RefusedFields


async def test_a_refused_field_is_tried_again_after_a_day() -> None:
    """Servers change; until then the refusal's words are kept."""
    now = 0.0
    sent: list[list[str]] = []

    async def post(body: Mapping[str, object]) -> str:
        sent.append(list(body))
        if "reasoning_effort" in body:
            raise FieldRefusedError(
                "x takes no reasoning_effort: not supported", "reasoning_effort"
            )
        return "ok"

    fields = RefusedFields(lambda: now)
    body = {"model": "m", "reasoning_effort": "low"}
    for _ in range(2):
        assert await fields.post_without_refused(body, post) == "ok"
    assert sent == [["model", "reasoning_effort"], ["model"], ["model"]]
    assert fields.list_known() == {"reasoning_effort": "not supported"}
    now = REMEMBERED + 1
    assert fields.list_known() == {}
    await fields.post_without_refused(body, post)
    assert sent[3:] == [["model", "reasoning_effort"], ["model"]]
