"""Search the web: through a SearXNG server, or the library ddgs."""

import importlib
import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any
from urllib.parse import urlencode

from orchestrator.hands.hand_tool import Arguments, HandFailure
from orchestrator.hands.page_fetcher import PageFetcher

DDGS = "ddgs"
RESULTS = 10
MAX_RESULTS = 20
MAX_SNIPPET = 500  # characters
OFF = (
    'searching is not set up; an operator may set "search" of the agent\'s "web" to the address'
    ' of a SearXNG server, or to "ddgs"'
)
MISSING = (
    "the library ddgs is not installed; an operator may run:"
    ' pip install "orchestrator-daemon[search]"'
)
Results = Iterable[dict[str, Any]]


def search(fetcher: PageFetcher, where: str | None, arguments: Arguments) -> str:
    """Return titles, addresses and excerpts of what was found.

    Raises:
        HandFailure: there is nothing to ask, or it does not answer.
    """
    query = arguments.text("query").strip()
    count = arguments.number("count", RESULTS, 1, MAX_RESULTS)
    if not query:
        raise HandFailure("query is empty")
    if where is None:
        raise HandFailure(OFF)
    ask: Callable[[], Results] = (
        (lambda: _ddgs(query, count))
        if where == DDGS
        else (lambda: _searxng(fetcher, where, query, arguments))
    )
    return "\n\n".join(_shown(ask(), count)) or "Nothing was found."


def _searxng(fetcher: PageFetcher, where: str, query: str, arguments: Arguments) -> Results:
    asked = urlencode({"q": query, "format": "json"})
    page = fetcher.fetch(f"{where.rstrip('/')}/search?{asked}", arguments.canceled)
    try:
        found = json.loads(page.data)["results"]
    except (ValueError, TypeError, KeyError):
        found = None
    if not isinstance(found, list):
        raise HandFailure(
            f"the search server answered HTTP {page.status} and no results; its settings.yml must"
            " have json among search.formats"
        )
    return [item for item in found if isinstance(item, dict)]


def _ddgs(query: str, count: int) -> Results:
    try:
        library = importlib.import_module(DDGS)
    except ImportError as error:
        raise HandFailure(MISSING) from error
    try:
        found: Results = library.DDGS().text(query, max_results=count)
    except Exception as error:  # a foreign library, with errors of its engines
        raise HandFailure(f"the search failed: {error}") from error
    return found


def _shown(found: Results, count: int) -> Iterator[str]:
    for number, item in enumerate(found, 1):
        if number > count:
            return
        title, text = (_line(item.get(key)) for key in ("title", "content"))
        text = text or _line(item.get("body"))
        yield f"{number}. {title}\n{_line(item.get('url') or item.get('href'))}\n{text}"


def _line(value: object) -> str:
    return " ".join(str(value or "").split())[:MAX_SNIPPET]
