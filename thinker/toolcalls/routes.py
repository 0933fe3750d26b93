"""Keyword routes: words in a message that select a kind of tool, whatever its description."""

from collections.abc import Iterable

from thinker.playbooks import Matcher, Playbook

# Each kind of tools: words that select it, and parts of the names of its tools.
ROUTES = {
    "mail": ("email e-mail mail inbox unread reply gmail", "mail"),
    "calendar": ("calendar meeting appointment schedule event busy", "calendar event"),
    "files": ("file files folder document documents directory workspace", "file director"),
    "search": ("search find research news headlines look latest", "search news"),
    "memory": ("remember recall memory memories know told forget", "memor fact profile"),
    "tasks": ("remind reminder cron recurring daily weekly hourly every alarm", "task remind"),
    "web": ("browse website webpage page url http https www screenshot", "browse fetch web"),
    "messages": ("message telegram chat send tell", "message telegram"),
    "code": ("code script python run execute calculate", "code exec python"),
    "time": ("time clock timezone date", "time"),
    "skills": ("skill skills playbook playbooks", "skill"),
}
DEFAULT = ("search", "memory")  # kinds for a message that selects no kind

_MATCHER = Matcher(
    [Playbook(kind, "", "", tuple(words.split())) for kind, (words, _) in ROUTES.items()]
)


def route_tools(names: Iterable[str], text: str, *, default: bool) -> dict[str, str]:
    """Return the kinds of the tools that a text selects, keyed by tool name.

    With ``default``, a text that selects no kind gets the default kinds.
    """
    kinds = [route.name for route in _MATCHER.match(text)] or (DEFAULT if default else ())
    return {
        name: kind
        for name in sorted(names)
        for kind in kinds
        if any(part in name.lower() for part in ROUTES[kind][1].split())
    }
