"""Openings of the endpoints are told."""

import json
from pathlib import Path
from typing import Any

import pytest

from orchestrator.agentsfile import parse_agents_file
from orchestrator.extensions.http_api.api_checks import list_api_openings
from orchestrator.extensions.http_api.api_settings import ApiSettings


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({}, []),
        ({"names": ["localhost.example"]}, []),
        ({"host": "192.168.1.5"}, [("host", "only this machine gets answers")]),
        ({"host": "192.168.1.5", "names": ["x"]}, [("host", "anyone who reaches port 8484")]),
        ({"origins": ["https://a.example"]}, [("origins", "scripts of https://a.example")]),
    ],
)
def test_each_opening_says_what_others_can_do(
    fields: dict[str, object], told: list[tuple[str, str]]
) -> None:
    """One that has no effect says what is missing."""
    found = list(list_api_openings(ApiSettings.model_validate(fields)))
    assert [
        (field, text[: len(begin)]) for (field, text), (_, begin) in zip(found, told, strict=True)
    ] == told


def test_check_tells_them_once_and_refuses_what_is_no_origin() -> None:
    """With the place in the file."""
    file: dict[str, Any] = {"agents": [{"agentId": "work", "llmProvider": "demo"}]}
    file["channels"] = {"api": {"host": "192.168.1.5", "origins": ["https://a.example"]}}
    found = parse_agents_file(json.dumps(file).encode(), environ={}, home=Path("/h")).problems
    told = [problem.message for problem in found if "channel 'api'" in problem.message]
    assert [text.partition(":")[0] for text in told] == [
        "channel 'api' has \"host\"",
        "channel 'api' has \"origins\"",
    ]
    file["channels"] = {"api": {"origins": ["https://a.example/path"]}}
    found = parse_agents_file(json.dumps(file).encode(), environ={}, home=Path("/h")).problems
    assert [problem.severity for problem in found][:1] == ["error"]
