"""Screens that other extensions add to the page: the supervisor renders them."""

from collections.abc import Iterable

import anyio
import structlog
from pydantic import JsonValue

from orchestrator.errors import FAULTS, describe_fault
from orchestrator.extension import Screen
from orchestrator.extensions.page.daemon_side.page_protocol import ScreenText, ShownScreen
from orchestrator.extensions.page.page_wire import ScreenLink
from thinker.protocol.peer import FAILED, INTERNAL, RpcError

RENDER_TIMEOUT = 5.0  # seconds; the page itself waits 10 for an answer
log = structlog.get_logger()


class AddedScreens:
    """The screens, keyed by path; the first one wins if two have the same path."""

    def __init__(self, screens: Iterable[Screen]) -> None:
        self._screens: dict[str, Screen] = {}
        self.problems: dict[str, str] = {}  # keyed by path, until the screen can be rendered again
        for screen in screens:
            if self._screens.setdefault(screen.path, screen) is not screen:
                log.warning("screen_left_out", path=screen.path, title=screen.title)

    def list_links(self) -> tuple[ScreenLink, ...]:
        """Return the navigation entries."""
        return tuple(ScreenLink(path=one.path, title=one.title) for one in self._screens.values())

    async def render_screen(self, params: JsonValue) -> ScreenText:
        """Return the title and the Markdown of a screen.

        Raises:
            RpcError: the screen does not exist, or its extension failed or took too long.
        """
        asked = ShownScreen.model_validate(params)
        screen = self._screens.get(asked.path)
        if screen is None:
            raise RpcError(FAILED, f"no extension has a screen {asked.path!r}")
        try:
            with anyio.fail_after(RENDER_TIMEOUT):
                text = await screen.render(asked.query)
        except FAULTS as error:
            log.exception("screen_failed", extension=screen.extension, path=screen.path)
            problem = f"failed: {describe_fault(error)}"
            if isinstance(error, TimeoutError):
                problem = f"took more than {RENDER_TIMEOUT:.0f} seconds"
            self.problems[screen.path] = f"the screen {screen.title!r} {problem}"
            raise RpcError(INTERNAL, self.problems[screen.path]) from error
        self.problems.pop(screen.path, None)
        return ScreenText(title=screen.title, text=text)
