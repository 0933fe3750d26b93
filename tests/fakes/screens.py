"""Requests for screens that are drawn from plain values."""

from collections.abc import Callable
from typing import NoReturn, TypeVar
from zoneinfo import ZoneInfo

import htpy as h

from orchestrator.extensions.page.screen_request import ScreenRequest, Viewer

T = TypeVar("T")
NOW = 1_774_000_000_000  # milliseconds


async def _no_journal(read: Callable[..., T], *args: object) -> T:
    raise AssertionError("a screen that is drawn reads nothing", read, args)


class _Daemon:
    async def ask_daemon(self, *_: object) -> NoReturn:
        raise AssertionError("a screen that is drawn asks nothing")


def request(role: str = "operator", **query: str) -> ScreenRequest:
    """A request of someone with a role."""
    return ScreenRequest(
        viewer=Viewer("ann", role),
        csrf="csrf",
        at="/here",
        path={},
        query=query,
        now=NOW,
        zone=ZoneInfo("UTC"),
        journal=_no_journal,
        daemon=_Daemon(),
        once=lambda: "once",
    )


def html(node: h.Node) -> str:
    """What a screen draws."""
    return str(h.fragment[node])
