"""The frame of every screen."""

import htpy as h

from orchestrator.control.roles import Right
from orchestrator.extensions.page.html.forms import build_link
from orchestrator.extensions.page.page_wire import ScreenLink
from orchestrator.extensions.page.screen_request import ScreenRequest
from orchestrator.extensions.page.static_files import build_static_url

# The navigation: name, address, right, and the letter after `g`.
PLACES: tuple[tuple[str, str, Right | None, str], ...] = (
    ("Now", "/", Right.LOOK, "n"),
    ("Chats", "/chats", Right.CHAT, "c"),
    ("Turns", "/turns", Right.LOOK, "t"),
    ("Inbox", "/inbox", Right.DECIDE, "i"),
    ("Costs", "/costs", Right.LOOK, "k"),
    ("Tasks", "/tasks", Right.LOOK, "a"),
    ("Tools", "/tools", Right.LOOK, "o"),
    ("Logs", "/logs", Right.READ, "l"),
    ("System", "/system", Right.LOOK, "s"),
    ("Manual", "/manual", None, "m"),
)
SCRIPTS = ("idiomorph.js", "live.js", "chat.js")


def render_page(
    request: ScreenRequest, title: str, place: str, body: h.Node, badge: int = 0
) -> h.Element:
    """Render a whole page; ``badge`` is the number of things that wait for a person."""
    places = [entry for entry in PLACES if entry[2] is None or request.has_right(entry[2])]
    added = request.added if request.has_right(Right.READ) else ()
    return _render_document(
        f"({badge}) {title}" if badge else title,
        h.body(data_root="/")[
            h.a(href="#main", class_="skip")["Skip to the content"],
            h.p(id="offline", role="status", hidden=True),
            h.nav(aria_label="Screens")[
                h.a(href="/", class_="brand")[
                    h.img(src=build_static_url("icon.svg"), alt="", width="22"), "Orchestrator"
                ],
                _render_search_form(request) if request.has_right(Right.LOOK) else None,
                h.ul[
                    (
                        _render_nav_entry(name, path, key, place, badge)
                        for name, path, _, key in places
                    ),
                    (_render_added_entry(request, link) for link in added),
                ],
                h.form(method="post", action="/out", class_="who")[
                    h.input(type="hidden", name="csrf", value=request.csrf),
                    h.span[request.viewer.user, h.small[f" {request.viewer.role}"]],
                    h.button(type="button", id="theme", hidden=True)["Theme"],
                    h.button["Log out"],
                ],
            ],
            h.main(id="main", tabindex="-1")[h.h1[title], body],
        ],
    )


def render_bare_page(title: str, *content: h.Node) -> h.Element:
    """Render a page without navigation: the login, or an error."""
    main = h.main(id="main")[h.h1[title], content]
    return _render_document(title, h.body(class_="bare", data_root="/")[main])


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


def _render_nav_entry(name: str, path: str, key: str, place: str, badge: int) -> h.Element:
    here = "page" if name == place else None
    number = h.b(class_="badge")[badge] if name == "Inbox" and badge else None
    return h.li[h.a(href=path, aria_current=here, data_go=key)[name, number and " ", number]]


def _render_added_entry(request: ScreenRequest, link: ScreenLink) -> h.Element:
    path = build_link("x", link.path)
    here = "page" if request.at.partition("?")[0] == path else None
    return h.li[h.a(href=path, aria_current=here)[link.title]]


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
