"""The MCP server of an agent's access to the web: ``python -P -m orchestrator.hands.web SETTINGS``.

It jails itself: it can read programs and libraries, write nothing, and start nothing but the jail
in which pages are turned into text.
"""

import html
import os
import re
import socket
import sys
import threading
from contextlib import suppress
from urllib.parse import urlsplit

from orchestrator.hands import system_folders, web_search
from orchestrator.hands.command_order import MIB, CommandLimits, CommandOrder
from orchestrator.hands.command_runner import CommandRunner
from orchestrator.hands.hand_tool import Arguments, HandFailure, HandTool, integer
from orchestrator.hands.page_fetcher import FetchedPage, PageFetcher
from orchestrator.hands.stdio_loop import StdioLoop
from orchestrator.hands.web_settings import WebSettings
from thinker.jail import argument_checks, calls, hardening, landlock, seccomp
from thinker.jail.landlock import Grants

SHOWN = 40_000  # characters of one answer
HTML = ("text/html", "application/xhtml+xml")
TEXT = re.compile(r"text/|application/(.*\+)?(json|xml|yaml|javascript|toml|x-ndjson)$")
CHARSET = re.compile(rb"""<meta[^>]{0,200}charset=["']?([\w.:-]{1,40})""", re.IGNORECASE)
HEAD = 4096  # bytes in which a page names its charset
LIMITS = CommandLimits(seconds=20, memory=1024 * MIB, processes=0, file_size=0)
DENIED = calls.group("io_uring", "namespaces", "mounts", "kernel", "machine", "shared_memory")
FAMILIES = (socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK)


class WebTools:
    """The tools for the web."""

    def __init__(self, settings: WebSettings) -> None:
        self._settings = settings
        self._pages = PageFetcher(settings.seconds, settings.max_bytes, settings.private)
        engine = urlsplit(settings.search or "").hostname or ""
        # The operator named this server, wherever it is.
        self._engine = PageFetcher(settings.seconds, settings.max_bytes, (engine,))
        self._runner = CommandRunner(keep=16 * MIB)

    def tools(self) -> tuple[HandTool, ...]:
        return (
            HandTool(
                "fetch",
                "Fetch a page of the web and return its text, or JSON and plain text as they are.",
                {
                    "url": "The whole address, with https://.",
                    "start": integer("Character to begin at, for the rest of a long page."),
                },
                self.fetch,
                ("url",),
                read_only=True,
                open_world=True,
            ),
            HandTool(
                "search",
                "Search the web; read what looks right with fetch.",
                {
                    "query": "Words to search for.",
                    "count": integer("How many results; 10 if omitted."),
                },
                lambda arguments: web_search.search(self._engine, self._settings.search, arguments),
                ("query",),
                read_only=True,
                open_world=True,
            ),
        )

    def fetch(self, arguments: Arguments) -> str:
        start = arguments.number("start", 0, 0, 10**9)
        page = self._pages.fetch(arguments.text("url").strip(), arguments.canceled)
        title, text = self._text(page, arguments.canceled)
        about = [f"{page.url} (HTTP {page.status}, {page.content_type or 'no content type'})"]
        about += [f"Title: {title}"] if title else []
        about += [f"[only the first {len(page.data)} bytes were read]"] if page.cut else []
        part = text[start : start + SHOWN]
        left = len(text) - start - len(part)
        note = [f"[{left} more characters; go on with start {start + SHOWN}]"] if left > 0 else []
        return "\n".join([*about, "", part or "[no text]", *note])

    def _text(self, page: FetchedPage, canceled: threading.Event) -> tuple[str, str]:
        """Return the title and text of a page."""
        kind = page.content_type or _guess(page.data)
        text = page.data.decode(_charset(page), "replace")
        if kind in HTML:
            return self._readable(text, canceled)
        if not TEXT.match(kind):
            raise HandFailure(f"{page.url} is {kind} with {len(page.data)} bytes, and no text")
        return "", text

    def _readable(self, source: str, canceled: threading.Event) -> tuple[str, str]:
        """Return the title and text of HTML, found by a process that can reach nothing."""
        page = os.memfd_create("page")
        try:
            with os.fdopen(os.dup(page), "wb") as file:
                file.write(source.encode("utf-8", "replace"))
            os.lseek(page, 0, os.SEEK_SET)
            order = CommandOrder(
                argv=(sys.executable, "-P", "-m", "orchestrator.hands.page_text"),
                cwd="/",
                env={},
                read=system_folders.configuration(),
                run=[*system_folders.programs(), *system_folders.own_code()],
                jailed=False,
                limits=LIMITS,
                stdin=page,
            )
            result = self._runner.run(order, canceled)
        finally:
            os.close(page)
        if result.end.problem or result.end.code:
            raise HandFailure(f"the page cannot be read: {result.end.problem or 'it is damaged'}")
        title, _, text = result.stdout.partition("\n")
        return html.unescape(title), text


def _guess(data: bytes) -> str:
    start = data[:HEAD].lstrip().lower()
    if start.startswith((b"<!doctype html", b"<html")):
        return "text/html"
    return "application/octet-stream" if b"\0" in data[:HEAD] else "text/plain"


def _charset(page: FetchedPage) -> str:
    """Return the encoding that the server or the page names, if Python knows it."""
    found = CHARSET.search(page.data[:HEAD]) if page.content_type in HTML else None
    for name in (page.charset, found[1].decode() if found else ""):
        with suppress(LookupError, ValueError):
            "".encode(name)
            if name:
                return name
    return "utf-8-sig"


def jail() -> tuple[str, ...]:
    """Confine this server; return what the kernel lacks."""
    lacking = hardening.harden()
    grants = Grants(
        read=(*system_folders.configuration(), "/proc", "/dev/random", "/dev/urandom"),
        run=(*system_folders.programs(), *system_folders.own_code()),
        write=("/dev/null",),
        connect=None,
    )
    checks = [argument_checks.families(*FAMILIES), *argument_checks.CONNECTED_PAIRS]
    filtered = seccomp.install(seccomp.program(DENIED, checks))
    return (*lacking, *landlock.restrict(grants), *filtered)


def main(text: str) -> None:
    settings = WebSettings.from_json(text)
    lacking = jail()
    if lacking:
        sys.stderr.write(f"the jail of web access lacks: {', '.join(lacking)}\n")
    fetch, search = WebTools(settings).tools()
    offered, hidden = ([fetch, search], []) if settings.search else ([fetch], [search])
    StdioLoop("web", offered, hidden).serve()


if __name__ == "__main__":
    main(sys.argv[1])
