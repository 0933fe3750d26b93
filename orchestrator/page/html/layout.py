"""The frame of every screen."""

import htpy as h

from orchestrator.control.page_access import Right
from orchestrator.page.static_files import static_url
from orchestrator.page.visit import Visit

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


def page(visit: Visit, title: str, place: str, body: h.Node, badge: int = 0) -> h.Element:
    """Return a whole page; ``badge`` is the number of things that wait for a person."""
    places = [entry for entry in PLACES if entry[2] is None or visit.may(entry[2])]
    return _document(
        f"({badge}) {title}" if badge else title,
        h.body(data_root="/")[
            h.a(href="#main", class_="skip")["Skip to the content"],
            h.p(id="offline", role="status", hidden=True),
            h.nav(aria_label="Screens")[
                h.a(href="/", class_="brand")[
                    h.img(src=static_url("icon.svg"), alt="", width="22"), "Orchestrator"
                ],
                _find(visit) if visit.may(Right.LOOK) else None,
                h.ul[(_entry(name, path, key, place, badge) for name, path, _, key in places)],
                h.form(method="post", action="/out", class_="who")[
                    h.input(type="hidden", name="csrf", value=visit.csrf),
                    h.span[visit.visitor.user, h.small[f" {visit.visitor.role}"]],
                    h.button(type="button", id="theme", hidden=True)["Theme"],
                    h.button["Log out"],
                ],
            ],
            h.main(id="main", tabindex="-1")[h.h1[title], body],
        ],
    )


def bare(title: str, *content: h.Node) -> h.Element:
    """Return a page without navigation: the login, and what went wrong."""
    main = h.main(id="main")[h.h1[title], content]
    return _document(title, h.body(class_="bare", data_root="/")[main])


def _find(visit: Visit) -> h.Element:
    words = visit.query.get("q", "") if visit.at.startswith("/find") else ""
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


def _entry(name: str, path: str, key: str, place: str, badge: int) -> h.Element:
    here = "page" if name == place else None
    number = h.b(class_="badge")[badge] if name == "Inbox" and badge else None
    return h.li[h.a(href=path, aria_current=here, data_go=key)[name, number and " ", number]]


def _document(title: str, body: h.Element) -> h.Element:
    return h.html(lang="en")[
        h.head[
            h.meta(charset="utf-8"),
            h.meta(name="viewport", content="width=device-width, initial-scale=1"),
            h.meta(name="color-scheme", content="light dark"),
            h.title[f"{title} · Orchestrator"],
            h.link(rel="stylesheet", href=static_url("page.css")),
            h.link(rel="icon", href=static_url("icon.svg"), type="image/svg+xml"),
            h.link(rel="manifest", href=static_url("manifest.webmanifest")),
            (h.script(src=static_url(name), defer=True) for name in SCRIPTS),
        ],
        body,
    ]
