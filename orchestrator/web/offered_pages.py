"""What extensions offer by HTTP: endpoints of the HTTP API, and screens of the web page."""

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from orchestrator.web.error_response import ApiProblem
    from thinker.protocol.messages import JsonObject


@dataclass(frozen=True)
class Route:
    """An HTTP endpoint, on the port of the HTTP API.

    ``handle`` runs on the daemon's event loop. Requests need the token of the API, unless
    ``own_check`` says that ``handle`` checks them itself: such a path takes at most ``slots``
    requests at a time, and ``opens_port`` makes it a reason to listen without a token. ``document``
    makes the JSON of a refusal, if clients expect another one than OpenAI's. Scripts of other sites
    may read ``exposed_headers`` of the responses.
    """

    path: str
    handle: "Callable[[Request], Awaitable[Response]]"
    methods: tuple[str, ...] = ("GET",)
    own_check: bool = False
    opens_port: bool = False
    slots: int = 20
    document: "Callable[[ApiProblem], JsonObject] | None" = None
    exposed_headers: tuple[str, ...] = ()
    extension: str = ""  # filled in for those of other distributions

    @property
    def prefix(self) -> str:
        """The common beginning of the route's paths."""
        return self.path.partition("{")[0]

    def matches_path(self, path: str) -> bool:
        """Return whether the route serves a path."""
        return path.startswith(self.prefix) if "{" in self.path else path == self.path


@dataclass(frozen=True)
class Screen:
    """A screen of the web page, at ``/x/<path>`` and in the page's navigation.

    ``render`` gets the parameters of the address and returns Markdown; HTML in it is shown as text.
    It runs on the daemon's event loop at each look of a person whose role may read texts, and has 5
    seconds. What it raises is logged, and shown on the screen and by `orchestrator status`.

    Raises:
        ValueError: ``path`` is not one word of lower-case letters, digits and hyphens.
    """

    path: str
    title: str
    render: "Callable[[Mapping[str, str]], Awaitable[str]]"
    extension: str = ""  # filled in for those of other distributions

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[a-z0-9][a-z0-9-]{0,63}", self.path):
            raise ValueError(f"a screen's path is one word such as 'moon', not {self.path!r}")
