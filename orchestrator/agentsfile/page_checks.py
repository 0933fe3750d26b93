"""What in `channels.web` lets others than this machine's user reach the page."""

from collections.abc import Iterator

from orchestrator.agentsfile.agents_file import PageIdentity, PageSettings
from orchestrator.agentsfile.draft import Draft

BY_A_PROXY = (
    "all who reach the proxy of {names} reach the page's login; let it serve https alone and"
    " replace X-Forwarded-Proto"
)
BY_ANY_PROGRAM = (
    "any program on this machine can say how a browser came, by X-Forwarded-Proto and"
    " X-Forwarded-For; remove it if no proxy serves the page"
)


def check_page(draft: Draft) -> None:
    """Warn of each opening of the page, and of settings without effect."""
    web = draft.channels.web
    draft.warn_of("web", page_openings(web) if web.enabled else ())
    if web.socket and "port" in web.model_fields_set:
        draft.warn(
            ("channels", "web", "port"),
            'channel \'web\' has "socket", so nothing listens on its "port"; remove one of them',
        )


def page_openings(web: PageSettings) -> Iterator[tuple[str, str]]:
    """Yield each setting that opens the page, with what others can do by it."""
    if web.names:
        names = ", ".join(web.names)
        yield "names", BY_A_PROXY.format(names=names)
    elif web.behind_proxy:
        yield "behindProxy", BY_ANY_PROGRAM
    if web.identity is not None:
        yield "identity", _by_header(web.identity, socket=web.socket)


def _by_header(identity: PageIdentity, *, socket: bool) -> str:
    """Say who can log in by the header of a proxy."""
    people = ", ".join(f"{name} ({role})" for name, role in identity.users.items()) or "no one"
    if socket:
        return (
            f"{identity.header} alone decides who is logged in, as {people}; let the proxy replace"
            " it in every request"
        )
    return (
        f"every program and user of this machine, MCP servers among them, can log in as {people} by"
        f' sending {identity.header}; set "socket": true, and let the proxy replace the header'
    )
