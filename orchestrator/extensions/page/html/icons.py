"""Icons as outlines of 16 by 16 units; the words beside them say the same."""

import htpy as h

ICONS = {
    "now": "M2 8h3l2-5 3 10 2-5h2",
    "chats": "M2.5 3.5h11v7h-6l-3 2.5v-2.5h-2z",
    "inbox": "M2.5 9.5 4 3h8l1.5 6.5V13h-11zM2.5 9.5h3l1 1.5h3l1-1.5h3",
    "turns": "M3 3.5h4M5 6.5h6M8 9.5h5M4 12.5h7",
    "costs": "M3 13V8M6.5 13V5M10 13V9M13.5 13V3",
    "tasks": "M8 2.5a5.5 5.5 0 1 1 0 11 5.5 5.5 0 0 1 0-11zM8 5v3.2l2.2 1.3",
    "logs": "M3 4h10M3 8h10M3 12h6",
    "agents": "M8 7.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5zM3 13.5c.5-3 2.3-4 5-4s4.5 1 5 4",
    "people": "M6 7.5a2.2 2.2 0 1 0 0-4.5 2.2 2.2 0 0 0 0 4.5zM2 13c.4-2.6 1.8-3.5 4-3.5"
    "s3.6.9 4 3.5M10.5 3.2a2 2 0 0 1 0 4M12 9.8c1.2.4 1.8 1.5 2 3.2",
    "texts": "M4 2.5h5l3 3v8H4zM9 2.5v3h3M6 8.5h4M6 11h4",
    "memory": "M8 3c-3 0-5 .8-5 2v6c0 1.2 2 2 5 2s5-.8 5-2V5c0-1.2-2-2-5-2z"
    "M3 8c0 1.2 2 2 5 2s5-.8 5-2",
    "tools": "M9.5 3.5 6 7l3 3 3.5-3.5a3 3 0 0 1-4 4L5 14l-3-3 3.5-3.5a3 3 0 0 1 4-4z",
    "keys": "M10 9a3.5 3.5 0 1 0-3-1.7L2.5 11.8V14H5v-1.5h1.5V11L8 9.5",
    "settings": "M3 4.5h6M12 4.5h1M3 8h1M7 8h6M3 11.5h6M12 11.5h1M10.5 3v3M5.5 6.5v3M10.5 10v3",
    "system": "M2.5 3.5h11v4h-11zM2.5 9h11v4h-11zM5 5.5h.01M5 11h.01",
    "manual": "M8 4c-1.5-1-3.5-1-5.5-.5v9c2-.5 4-.5 5.5.5"
    " 1.5-1 3.5-1 5.5-.5v-9C11.5 3 9.5 3 8 4zM8 4v9",
    "menu": "M2.5 4.5h11M2.5 8h11M2.5 11.5h11",
    "more": "M4 8h.01M8 8h.01M12 8h.01",
    "send": "M8 13V3M4 7l4-4 4 4",
    "attach": "M11.5 6.5 7 11a1.8 1.8 0 0 1-2.5-2.5l5-5a3 3 0 0 1 4.2 4.2l-5.5 5.5",
    "stop": "M4.5 4.5h7v7h-7z",
    "edit": "M3 13l.6-2.6L10.5 3.5l2 2-6.9 6.9z",
    "add": "M8 3v10M3 8h10",
    "copy": "M5.5 5.5h7v7h-7zM3.5 10.5v-7h7",
    "undo": "M6 3 3 6l3 3M3 6h6.5a3.5 3.5 0 0 1 0 7H6",
    "again": "M13 8a5 5 0 1 1-1.6-3.7M13 2.5v3h-3",
    "back": "M10 3 5 8l5 5",
    "warning": "M8 2.5 14 13H2zM8 6.5v3M8 11.5h.01",
}


def render_icon(name: str, size: int = 16) -> h.Element:
    """Render an icon of ``size`` pixels, which screen readers skip."""
    return h.svg(viewBox="0 0 16 16", width=str(size), height=str(size), aria_hidden="true")[
        h.path(
            d=ICONS[name],
            fill="none",
            stroke="currentColor",
            stroke_width="1.4",
            stroke_linecap="round",
            stroke_linejoin="round",
        )
    ]
