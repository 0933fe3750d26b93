"""File operations by the rights of another user."""

import os
import pwd
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def acting_as(account: str) -> Iterator[None]:
    """Let the kernel judge the block by this user's rights; only root can become another one."""
    person = pwd.getpwnam(account)
    before = (os.geteuid(), os.getegid())
    if person.pw_uid == before[0]:
        yield
        return
    os.setegid(person.pw_gid)
    os.seteuid(person.pw_uid)
    try:
        yield
    finally:
        os.seteuid(before[0])
        os.setegid(before[1])
