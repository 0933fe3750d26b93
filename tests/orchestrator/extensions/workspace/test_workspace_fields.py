"""The fields of an agent for its workspace, as agents.json has them."""

import pytest
from fakes.agents_file import WORK, parsed


@pytest.mark.parametrize(
    ("workspace", "message"),
    [
        (
            {"network": "a.example"},
            '"workspace.network" must be true or false or a list: put it in',
        ),
        ("on", "\"workspace\" must be true, false, or an object with settings, not 'on'"),
        ({"network": ["a.example"]}, '"workspace.network[0]" must be a host and a port'),
        ({"limits": 5}, '"workspace.limits" must be an object, not 5'),
    ],
)
def test_value_of_several_kinds_gets_one_message(workspace: object, message: str) -> None:
    """In words of the file, for the kind that it has."""
    (error,) = parsed(WORK, {**WORK, "agentId": "bad", "workspace": workspace}).errors
    assert error.message.startswith(f"agent 'bad': {message}")
