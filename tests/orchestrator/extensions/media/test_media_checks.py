"""Models that an agent cannot use."""

import pytest
from fakes.agents_file import WORK, parsed

from orchestrator.agentsfile.draft import Draft
from orchestrator.agentsfile.positions import parse_json_document
from orchestrator.extensions.media.media_checks import check_unused_models

IMAGES = {"model": "brush", "baseUrl": "http://127.0.0.1:1/v1"}


def told(**fields: object) -> list[str]:
    """The warnings about an agent with these fields."""
    draft = Draft("agents.json", parse_json_document("{}"))
    draft.agents = dict(enumerate(parsed({**WORK, **fields}).file.agents))
    check_unused_models(draft)
    return [str(problem) for problem in draft.problems]


@pytest.mark.parametrize(
    ("lists", "field"),
    [
        ({"deniedTools": ["draw_picture"]}, "deniedTools"),
        ({"deniedTools": ["draw_*"], "allowedTools": ["get_time"]}, "deniedTools"),
        ({"allowedTools": ["get_time"]}, "allowedTools"),
        ({"allowedTools": ["draw_*"]}, ""),
        ({}, ""),
    ],
)
def test_model_that_draws_without_its_tool_is_told(lists: dict[str, object], field: str) -> None:
    """It would never be asked."""
    said = told(images=IMAGES, **lists)
    assert [f'its "{field}" keeps draw_picture from it' in text for text in said] == [True] * bool(
        field
    )
    assert told(**lists) == []
