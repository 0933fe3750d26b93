"""The frame of every screen."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import htpy as h

from orchestrator.control.roles import Right
from orchestrator.extensions.page.html.forms import build_link
from orchestrator.extensions.page.html.icons import render_icon
from orchestrator.extensions.page.html.letter_help import render_letter_help
from orchestrator.extensions.page.page_wire import ScreenLink
from orchestrator.extensions.page.screen_request import ScreenRequest, TitledContent
from orchestrator.extensions.page.static_files import build_static_url


class NavigationEntry(NamedTuple):
    """An entry of the navigation; ``key`` is the letter after ``g``."""

    name: str
    path: str
    right: Right | None
    key: str
    icon: str


# The navigation, under the headings of its groups.
PLACES: Mapping[str, Sequence[NavigationEntry]] = {
    "": (
        NavigationEntry("Now", "/", Right.LOOK, "n", "now"),
        NavigationEntry("Chats", "/chats", Right.CHAT, "c", "chats"),
        NavigationEntry("Inbox", "/inbox", Right.DECIDE, "i", "inbox"),
        NavigationEntry("Turns", "/turns", Right.LOOK, "t", "turns"),
        NavigationEntry("Trials", "/trials", Right.READ, "r", "again"),
        NavigationEntry("Costs", "/costs", Right.LOOK, "k", "costs"),
        NavigationEntry("Logs", "/logs", Right.READ, "l", "logs"),
    ),
    "Set up": (
        NavigationEntry("Agents", "/agents", Right.LOOK, "g", "agents"),
        NavigationEntry("People", "/people", Right.DECIDE, "p", "people"),
        NavigationEntry("Tasks", "/tasks", Right.LOOK, "a", "tasks"),
        NavigationEntry("Texts", "/texts", Right.READ, "x", "texts"),
        NavigationEntry("Memory", "/memory", Right.READ, "e", "memory"),
        NavigationEntry("Tools", "/tools", Right.LOOK, "o", "tools"),
        NavigationEntry("Keys", "/keys", Right.READ, "y", "keys"),
        NavigationEntry("Settings", "/settings", Right.READ, "f", "settings"),
    ),
    "Machine": (
        NavigationEntry("System", "/system", Right.LOOK, "s", "system"),
        NavigationEntry("Manual", "/manual", None, "m", "manual"),
    ),
}
ON_PHONES = ("Now", "Chats", "Inbox", "Turns")  # always in sight; the rest is behind a button
SCRIPTS = (
    "idiomorph.js",
    "stream.js",
    "forms.js",
    "keys.js",
    "follow.js",
    "chat.js",
    "editor.js",
)


def render_page(
    request: ScreenRequest, titled: TitledContent, place: str, badge: int = 0
) -> h.Element:
    """Render a whole page; ``badge`` is the number of things that wait for a person."""
    title, content = titled.title, titled.content
    return _render_document(
        f"({badge}) {title}" if badge else title,
        h.body(
            data_root="/",
            data_seen=request.seen or None,
            data_posted=bool(request.form) and not titled.follows,
        )[
            h.a(href="#main", class_="skip")["Skip to the content"],
            h.a(href="#text", class_="skip")["Skip to the message box"] if titled.writes else None,
            h.p(id="offline", role="status", hidden=True),
            _render_menu(request, place, badge),
            h.main(id="main", tabindex="-1")[
                h.header(class_="head")[
                    h.h1[title],
                    h.div(class_="lead")[titled.lead] if titled.lead else None,
                    h.div(class_="row")[titled.actions] if titled.actions else None,
                ],
                content
                if titled.split
                else h.div(class_="pane", data_pane=True, tabindex="-1")[content],
            ],
            render_letter_help((one.key, one.name) for one in _list_places(request)),
        ],
    )


def render_split(label: str, listed: h.Node, *detail: h.Node, chosen: bool = True) -> h.Element:
    """Render a list beside the one that was ``chosen``; narrow windows show either.

    ``detail`` are the parts below each other, of which one scrolls: ``h.div(class_="pane")``.
    """
    return h.div(class_="split open" if chosen else "split")[
        h.div(class_="pane list", data_pane=True, tabindex="0", role="region", aria_label=label)[
            listed
        ],
        h.div(class_="detail")[detail],
    ]


def render_bare_page(title: str, *content: h.Node) -> h.Element:
    """Render a page without navigation: the login, or an error."""
    main = h.main(id="main")[h.h1[title], content]
    return _render_document(title, h.body(class_="bare", data_root="/")[main])


def _list_places(request: ScreenRequest) -> list[NavigationEntry]:
    """Return the entries of the navigation for a role."""
    every = [one for places in PLACES.values() for one in places]
    return [one for one in every if one.right is None or request.has_right(one.right)]


def _render_menu(request: ScreenRequest, place: str, badge: int) -> h.Element:
    groups = {
        heading: [one for one in places if one.right is None or request.has_right(one.right)]
        for heading, places in PLACES.items()
    }
    added = request.added if request.has_right(Right.READ) else ()
    return h.nav(class_="menu", aria_label="Screens")[
        h.ul(class_="tabs")[
            (
                h.li[_render_place(one, place, badge, keyed=False)]
                for one in _list_places(request)
                if one.name in ON_PHONES
            ),
            h.li[h.button(type="button", popovertarget="menu")[render_icon("menu"), "Menu"]],
        ],
        h.div(class_="menu-list", id="menu", popover=True)[
            h.a(href="/", class_="brand")[
                h.img(src=build_static_url("icon.svg"), alt="", width="22"), "Orchestrator"
            ],
            _render_search_form(request) if request.has_right(Right.LOOK) else None,
            (
                [
                    h.h2[heading] if heading else None,
                    h.ul[(h.li[_render_place(one, place, badge)] for one in places)],
                ]
                for heading, places in groups.items()
                if places
            ),
            h.ul[(_render_added_entry(request, link) for link in added)] if added else None,
            h.form(method="post", action="/out", class_="who")[
                h.input(type="hidden", name="csrf", value=request.csrf),
                h.span[request.viewer.user, h.small[f" {request.viewer.role}"]],
                h.button(type="button", id="theme", class_="plain", hidden=True)["Theme"],
                h.button(class_="plain")["Log out"],
            ],
        ],
    ]


def _render_search_form(request: ScreenRequest) -> h.Element:
    words = request.query.get("q", "") if request.at.startswith("/find") else ""
    return h.form(method="get", action="/find", role="search", class_="find")[
        h.input(
            name="q",
            type="search",
            value=words,
            placeholder="find …",
            aria_label="Find",
            maxlength="200",
        )
    ]


def _render_place(one: NavigationEntry, place: str, badge: int, *, keyed: bool = True) -> h.Element:
    here = "page" if one.name == place else None
    number = h.b(class_="badge")[badge] if one.name == "Inbox" and badge else None
    return h.a(href=one.path, aria_current=here, data_go=one.key if keyed else None)[
        render_icon(one.icon), one.name, number and " ", number
    ]


def _render_added_entry(request: ScreenRequest, link: ScreenLink) -> h.Element:
    path = build_link("x", link.path)
    here = "page" if request.at.partition("?")[0] == path else None
    return h.li[h.a(href=path, aria_current=here)[render_icon("more"), link.title]]


def _render_document(title: str, body: h.Element) -> h.Element:
    return h.html(lang="en")[
        h.head[
            h.meta(charset="utf-8"),
            h.meta(name="viewport", content="width=device-width, initial-scale=1"),
            h.meta(name="color-scheme", content="light dark"),
            h.title[f"{title} · Orchestrator"],
            h.link(rel="stylesheet", href=build_static_url("page.css")),
            h.link(rel="icon", href=build_static_url("icon.svg"), type="image/svg+xml"),
            h.link(rel="manifest", href=build_static_url("manifest.webmanifest")),
            (h.script(src=build_static_url(name), defer=True) for name in SCRIPTS),
        ],
        body,
    ]
