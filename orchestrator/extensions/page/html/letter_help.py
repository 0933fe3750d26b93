"""The help for those who use the page by its letters."""

from collections.abc import Iterable

import htpy as h

LETTERS = (
    ("/", "find anything"),
    ("w", "write: in the chat that is open, or in a new one"),
    ("j k", "choose the next or previous entry"),
    ("a d", "allow or deny the question that is chosen; choose one with j"),
    (".", "change the theme"),
    ("?", "this help"),
    ("Esc", "close"),
)


def render_letter_help(places: Iterable[tuple[str, str]]) -> h.Element:
    """Render the help, which a script opens; ``places`` are letters after ``g`` with screens."""
    rows = [*((f"g {key}", name) for key, name in places), *LETTERS]
    return h.dialog(id="keys", popover=True, data_kept=True, aria_labelledby="keys-title")[
        h.h2(id="keys-title")["Keys of this page"],
        h.dl(class_="values")[
            ([h.dt[([h.kbd[key], " "] for key in keys.split())], h.dd[text]] for keys, text in rows)
        ],
        h.div(class_="row")[
            h.button(type="button", popovertarget="keys", popovertargetaction="hide")["Close"],
            h.button(type="button", id="letters"),
        ],
    ]
