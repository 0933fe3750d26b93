"""Search the web: through a SearXNG server, or the library ddgs."""

import importlib
import json
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from orchestrator.extensions.workspace.served_tool import Arguments, CallFailure
from orchestrator.extras import explain_missing

if TYPE_CHECKING:
    from orchestrator.extensions.workspace.page_fetcher import PageFetcher

DDGS = "ddgs"
RESULTS = 10
MAX_RESULTS = 20
MAX_SNIPPET = 500  # characters
OFF = (
    'searching is not set up; an operator may set "search" of the agent\'s "web" to the address'
    ' of a SearXNG server, or to "ddgs"'
)
MISSING = "the search is not set up, which only an operator can do: {missing}"
Results = Iterable[dict[str, Any]]


def search_web(fetcher: "PageFetcher", where: str | None, arguments: Arguments) -> str:
    """Return the titles, addresses and excerpts of the results.

    Raises:
        CallFailure: no search is set up, or the server does not answer.
    """
    query = arguments.get_text("query").strip()
    count = arguments.get_number("count", RESULTS, 1, MAX_RESULTS)
    if not query:
        raise CallFailure("query is empty")
    if where is None:
        raise CallFailure(OFF)
    ask: Callable[[], Results] = (
        (lambda: _search_ddgs(query, count))
        if where == DDGS
        else (lambda: _search_searxng(fetcher, where, query, arguments))
    )
    return "\n\n".join(_format_results(ask(), count)) or "Nothing was found."


def _search_searxng(
    fetcher: "PageFetcher", where: str, query: str, arguments: Arguments
) -> Results:
    asked = urlencode({"q": query, "format": "json"})
    page = fetcher.fetch_page(f"{where.rstrip('/')}/search?{asked}", arguments.cancelled)
    try:
        found = json.loads(page.data)["results"]
    except (ValueError, TypeError, KeyError):
        found = None
    if not isinstance(found, list):
        raise CallFailure(
            f"the search server answered HTTP {page.status} and no results; its settings.yml must"
            " have json among search.formats"
        )
    return [item for item in found if isinstance(item, dict)]


def _search_ddgs(query: str, count: int) -> Results:
    missing = explain_missing([DDGS], "search")
    if missing:
        raise CallFailure(MISSING.format(missing=missing))
    library = importlib.import_module(DDGS)
    try:
        found: Results = library.DDGS().text(query, max_results=count)
    except Exception as error:  # a foreign library, with errors of its engines
        raise CallFailure(f"the search failed: {error}") from error
    return found


def _format_results(found: Results, count: int) -> Iterator[str]:
    for number, item in enumerate(found, 1):
        if number > count:
            return
        title, text = (_shorten_line(item.get(key)) for key in ("title", "content"))
        text = text or _shorten_line(item.get("body"))
        yield f"{number}. {title}\n{_shorten_line(item.get('url') or item.get('href'))}\n{text}"


def _shorten_line(value: object) -> str:
    return " ".join(str(value or "").split())[:MAX_SNIPPET]
