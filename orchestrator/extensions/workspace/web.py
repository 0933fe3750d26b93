"""The MCP server that gives an agent access to the web (argument: SETTINGS).

The server jails itself: it can read programs and libraries, write nothing, and start nothing but
the jail in which pages are turned into text.
"""

import html
import os
import re
import socket
import sys
import threading
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from orchestrator.extensions.workspace import system_folders, web_search
from orchestrator.extensions.workspace.command_order import MIB, CommandLimits, CommandOrder
from orchestrator.extensions.workspace.command_runner import CommandRunner
from orchestrator.extensions.workspace.page_fetcher import FetchedPage, PageFetcher
from orchestrator.extensions.workspace.served_tool import (
    Arguments,
    CallFailure,
    ServedTool,
    build_integer_schema,
)
from orchestrator.extensions.workspace.stdio_loop import StdioLoop
from orchestrator.extensions.workspace.web_settings import WebSettings
from orchestrator.extras import explain_missing
from thinker.formats.text_encoding import decode_bytes, find_encoding
from thinker.jail import argument_checks, calls, hardening, landlock, seccomp
from thinker.jail.landlock import Grants

if TYPE_CHECKING:
    from orchestrator.extensions.workspace.page_fetcher import FetchedPage, PageFetcher

MAX_TEXT = 40_000  # characters of one answer
PARSER = ("html_to_markdown",)
HTML = ("text/html", "application/xhtml+xml")
TEXT = re.compile(r"text/|application/(.*\+)?(json|xml|yaml|javascript|toml|x-ndjson)$")
CHARSET = re.compile(rb"""<meta[^>]{0,200}charset=["']?([\w.:-]{1,40})""", re.IGNORECASE)
HEAD = 4096  # bytes in which a page names its charset
UNREAD = "{url} is HTML, whose text only an operator can make readable here: {missing}"
LIMITS = CommandLimits(seconds=20, memory=1024 * MIB, processes=0, file_size=0)
DENIED = calls.list_group_calls(
    "io_uring", "namespaces", "mounts", "kernel", "machine", "shared_memory"
)
FAMILIES = (socket.AF_INET, socket.AF_INET6)


class WebTools:
    """The tools for the web."""

    def __init__(self, settings: WebSettings) -> None:
        self._settings = settings
        self._runner = CommandRunner(keep=16 * MIB)

    def list_tools(self) -> tuple[ServedTool, ...]:
        return (
            ServedTool(
                "fetch",
                "Fetch a page of the web and return its text, or JSON and plain text as they are.",
                {
                    "url": "The whole address, with https://.",
                    "start": build_integer_schema(
                        "Character to begin at, for the rest of a long page."
                    ),
                },
                self.fetch_page,
                ("url",),
                read_only=True,
                open_world=True,
            ),
            ServedTool(
                "search",
                "Search the web; read what looks right with fetch.",
                {
                    "query": "Words to search for.",
                    "count": build_integer_schema("How many results; 10 if omitted."),
                },
                self.search_web,
                ("query",),
                read_only=True,
                open_world=True,
            ),
        )

    def search_web(self, arguments: Arguments) -> str:
        where = self._settings.search
        engine = urlsplit(where or "").hostname or ""
        # The operator named this server, wherever it is.
        return web_search.search_web(self._build_fetcher(engine), where, arguments)

    def fetch_page(self, arguments: Arguments) -> str:
        start = arguments.get_number("start", 0, 0, 10**9)
        fetcher = self._build_fetcher(*self._settings.private)
        page = fetcher.fetch_page(arguments.get_text("url").strip(), arguments.cancelled)
        title, text = self._extract_text(page, arguments.cancelled)
        about = [f"{page.url} (HTTP {page.status}, {page.content_type or 'no content type'})"]
        about += [f"Title: {title}"] if title else []
        about += [f"[only the first {len(page.data)} bytes were read]"] if page.cut else []
        part = text[start : start + MAX_TEXT]
        left = len(text) - start - len(part)
        note = (
            [f"[{left} more characters; go on with start {start + MAX_TEXT}]"] if left > 0 else []
        )
        return "\n".join([*about, "", part or "[no text]", *note])

    def _build_fetcher(self, *private: str) -> "PageFetcher":
        # Many agents fetch nothing, and their servers do without httpx.
        from orchestrator.extensions.workspace.page_fetcher import PageFetcher  # noqa: PLC0415

        return PageFetcher(self._settings.seconds, self._settings.max_bytes, private)

    def _extract_text(self, page: "FetchedPage", cancelled: threading.Event) -> tuple[str, str]:
        """Return the title and text of a page."""
        kind = page.content_type or _guess_media_type(page.data)
        text = decode_bytes(page.data, _find_charset(page)) or page.data.decode("utf-8", "replace")
        if kind in HTML:
            missing = explain_missing(PARSER, "workspace")
            if missing:
                raise CallFailure(UNREAD.format(url=page.url, missing=missing))
            return self._extract_readable_text(text, cancelled)
        if not TEXT.match(kind):
            raise CallFailure(f"{page.url} is {kind} with {len(page.data)} bytes, and no text")
        return "", text

    def _extract_readable_text(self, source: str, cancelled: threading.Event) -> tuple[str, str]:
        """Return the title and text of HTML, found by a process that can reach nothing."""
        page = os.memfd_create("page")
        try:
            with os.fdopen(os.dup(page), "wb") as file:
                file.write(source.encode("utf-8", "replace"))
            os.lseek(page, 0, os.SEEK_SET)
            order = CommandOrder(
                argv=(sys.executable, "-P", "-m", "orchestrator.extensions.workspace.page_text"),
                cwd="/",
                env={},
                read=system_folders.list_configuration_files(),
                run=[*system_folders.list_program_folders(), *system_folders.list_code_folders()],
                jailed=False,
                limits=LIMITS,
                stdin=page,
            )
            result = self._runner.run(order, cancelled)
        finally:
            os.close(page)
        if result.end.problem or result.end.code:
            raise CallFailure(f"the page cannot be read: {result.end.problem or 'it is damaged'}")
        title, _, text = result.stdout.partition("\n")
        return html.unescape(title), text


def _guess_media_type(data: bytes) -> str:
    start = data[:HEAD].lstrip().lower()
    if start.startswith((b"<!doctype html", b"<html")):
        return "text/html"
    return "application/octet-stream" if b"\0" in data[:HEAD] else "text/plain"


def _find_charset(page: "FetchedPage") -> str:
    """Return the encoding that the server or the page names; empty if neither does."""
    found = CHARSET.search(page.data[:HEAD]) if page.content_type in HTML else None
    return find_encoding(page.charset) or (find_encoding(found[1].decode()) if found else "")


def enter_jail() -> tuple[str, ...]:
    """Confine this server; return the protections that the kernel lacks."""
    lacking = hardening.harden_process()
    grants = Grants(
        read=(*system_folders.list_configuration_files(), "/proc", "/dev/random", "/dev/urandom"),
        run=(*system_folders.list_program_folders(), *system_folders.list_code_folders()),
        write=("/dev/null",),
        connect=None,
    )
    checks = (
        argument_checks.NO_NAMESPACES,
        *argument_checks.OWN_LIMITS,
        argument_checks.allow_families(*FAMILIES),
        *argument_checks.CONNECTED_PAIRS,
    )
    filtered = seccomp.install_filter(seccomp.build_filter(DENIED, checks))
    return (*lacking, *landlock.restrict_access(grants), *filtered)


def main(text: str) -> None:
    settings = WebSettings.from_json(text)
    lacking = enter_jail()
    if lacking:
        sys.stderr.write(f"the jail of web access lacks: {', '.join(lacking)}\n")
    fetch, search = WebTools(settings).list_tools()
    offered, hidden = ([fetch, search], []) if settings.search else ([fetch], [search])
    StdioLoop("web", offered, hidden).serve()


if __name__ == "__main__":
    main(sys.argv[1])
