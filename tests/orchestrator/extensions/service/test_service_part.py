"""What starts a daemon again that was asked to restart."""

from collections.abc import Mapping, Sequence

import pytest

from orchestrator.extensions.service.service_part import find_way

PYTHON = "/x/bin/python"


@pytest.mark.parametrize(
    ("environ", "command", "way"),
    [
        ({"NOTIFY_SOCKET": "/run/n"}, [PYTHON, "/x/bin/orchestrator", "run"], "systemd"),
        ({}, [PYTHON, "/x/bin/orchestrator", "run", "--home", "/h"], "anew"),
        ({"NOTIFY_SOCKET": ""}, [PYTHON, "-P", "-m", "orchestrator", "run"], "anew"),
        ({}, [PYTHON, "-c", "program()"], None),
        ({}, ["run"], None),
    ],
)
def test_restart_is_left_to_whoever_can(
    environ: Mapping[str, str], command: Sequence[str], way: str | None
) -> None:
    """A process that another program made of its own cannot be made again."""
    assert find_way(environ, command) == way
