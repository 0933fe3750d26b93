"""What runs inside a jail: everything that `thinker.jail.reach` tries, and a command.

A hostile MCP server calls `tried`. The file is a hook of a worker, too, and so needs nothing of
this package, which a worker cannot read.
"""

import json
import os
import socket
import stat
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from thinker.jail.reach import reached

COMMAND = "control socket: command"
PATIENCE = 5.0  # seconds for the daemon's answer
MAX_ANSWER = 65536  # bytes
TARGET, MARK = "TARGET:", "TRIED:"  # before what to try, and before the result as JSON


def filter_messages(_state: object, messages: Sequence[Any]) -> Sequence[Any] | None:
    """Replace a message that has a target by what was tried on it: a point of `thinker.hooks`."""
    *others, last = messages
    target = last.content.partition(TARGET)[2]
    return [*others, last.model_copy(update={"content": tried(target)})] if target else None


def tried(target: str) -> str:
    """Return the names of the attempts that succeeded, after a mark.

    ``target`` is hexadecimal JSON: the daemon's process, its control socket, paths by name.
    """
    pid, control, paths = json.loads(bytes.fromhex(target.split(maxsplit=1)[0]))
    found = [name for name, success in reached({"daemon": pid}, paths) if success]
    found += [f"{name}: mode" for name, path in paths.items() if changes_mode(path)]
    if commands(Path(control)):
        found.append(COMMAND)
    return MARK + json.dumps(found)


def changes_mode(path: str) -> bool:
    """Return whether this process can set the mode of a file; it gets the mode that it has."""
    with suppress(OSError):
        os.chmod(path, stat.S_IMODE(os.stat(path).st_mode))  # noqa: PTH101, PTH116 - a path's text
        return True
    return False


def commands(control: Path) -> bool:
    """Return whether the daemon answers this process as it answers its operator."""
    with suppress(OSError), socket.socket(socket.AF_UNIX) as client:
        client.settimeout(PATIENCE)
        client.connect(str(control))
        client.sendall(b'{"jsonrpc":"2.0","id":1,"method":"status"}\n')
        return b'"result"' in client.recv(MAX_ANSWER)
    return False
