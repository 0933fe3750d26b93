"""Bind the unix socket on which a daemon takes commands."""

import os
import socket

from orchestrator.errors import AlreadyRunningError
from orchestrator.settings import Settings


def bind_control_socket(settings: Settings) -> socket.socket:
    """Bind the control socket, which only this user can open. The home must be locked.

    Raises:
        AlreadyRunningError: the socket's path cannot be bound.
    """
    path = settings.paths.control_socket
    path.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX)
    before = os.umask(0o177)
    try:
        listener.bind(str(path))
    except OSError as error:
        listener.close()
        raise AlreadyRunningError(f"{path}: cannot listen ({error}); remove this file") from error
    finally:
        os.umask(before)
    listener.listen()
    listener.setblocking(False)  # noqa: FBT003 - the standard library takes it by position
    return listener
