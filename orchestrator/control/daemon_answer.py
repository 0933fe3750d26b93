"""Ask a running daemon one question with the standard library alone, in milliseconds.

A script may ask `orchestrator health` every few seconds; models and event loops would take ten
times as long to load as the question takes.
"""

import json
import socket
from pathlib import Path

from orchestrator.errors import OrchestratorError
from orchestrator.home_paths import Paths

ANSWER_SECONDS = 30.0  # timeout of a request; a healthy daemon needs less, even on a slow disk


class JsonRecord(dict[str, object]):
    """A JSON object whose members are attributes, too: ``agentId`` is ``agent_id``."""

    def __getattr__(self, name: str) -> object:
        first, *others = name.split("_")
        try:
            return self[first + "".join(map(str.capitalize, others))]
        except KeyError as error:
            raise AttributeError(name) from error

    def to_json(self, indent: int | None) -> str:
        """Format the object as pydantic formats a model."""
        separators = None if indent else (",", ":")
        return json.dumps(self, ensure_ascii=False, indent=indent, separators=separators)


def find_answer(home: Path, method: str) -> JsonRecord | None:
    """Return the result of a request without parameters; None for anything but a result.

    Raises:
        OrchestratorError: the daemon does not answer in time.
    """
    request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": None}
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(ANSWER_SECONDS)
        try:
            connection.connect(str(Paths(home).control_socket))
            connection.sendall(json.dumps(request).encode() + b"\n")
            with connection.makefile("rb") as lines:
                frame = json.loads(lines.readline(), object_hook=JsonRecord)
        except TimeoutError as error:
            raise OrchestratorError(describe_silence(home)) from error
        except (OSError, ValueError):
            return None
    result = frame.get("result") if isinstance(frame, JsonRecord) else None
    return result if isinstance(result, JsonRecord) else None


def describe_silence(home: Path) -> str:
    """Return the message for a daemon that did not answer in time."""
    return f"the daemon on {home} does not answer; see: orchestrator logs"
