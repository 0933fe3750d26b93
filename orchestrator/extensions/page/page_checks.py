"""Check settings of `channels.web` that let others than this machine's user reach the page."""

import socket
from collections.abc import Iterable, Iterator

from orchestrator.agentsfile import AgentsFile
from orchestrator.agentsfile.draft import Draft
from orchestrator.extension import Finding
from orchestrator.extensions.page.page_settings import PageIdentity, PageSettings
from orchestrator.settings import Settings

BY_A_PROXY = (
    "anyone who reaches the proxy of {names} reaches the page's login; let it serve https only"
    " and replace X-Forwarded-Proto"
)
BY_ANY_PROGRAM = (
    "any program on this machine can say how a browser came, by X-Forwarded-Proto and"
    " X-Forwarded-For; remove it if no proxy serves the page"
)
SUBJECT = "web page"
DEAF = "the page cannot listen"  # begins the reasons
OTHER_PORT = "end the program that has it, or set channels.web.port in agents.json"


def check_page(draft: Draft) -> None:
    """Warn about each setting that opens the page, and of settings without effect."""
    web = draft.channels.get_settings(PageSettings)
    draft.add_effect_warnings("web", list_page_openings(web) if web.enabled else ())
    if web.socket and "port" in web.model_fields_set:
        draft.add_warning(
            ("channels", "web", "port"),
            'channel \'web\' has "socket", so nothing listens on its "port"; remove one of them',
        )


def list_page_openings(web: PageSettings) -> Iterator[tuple[str, str]]:
    """Yield each setting that opens the page, and what it allows others to do."""
    if web.names:
        names = ", ".join(web.names)
        yield "names", BY_A_PROXY.format(names=names)
    elif web.behind_proxy:
        yield "behindProxy", BY_ANY_PROGRAM
    if web.identity is not None:
        yield "identity", _describe_header_login(web.identity, socket=web.socket)


def list_page_findings(
    settings: Settings, file: AgentsFile, *, running: bool, hints: Iterable[str] = ()
) -> Iterator[Finding]:
    """Report who can reach the page, if it is on, and whether its port is free.

    ``hints`` are those of the running daemon, which say why its page cannot listen.
    """
    web = file.channels.get_settings(PageSettings)
    if not web.enabled:
        return
    on = settings.paths.page_on.exists()
    if problem := next((hint for hint in hints if hint.startswith(DEAF)), ""):
        yield Finding(SUBJECT, problem, "problem")
        return
    if not web.socket and not (running and on):
        try:
            socket.create_server(("127.0.0.1", web.port)).close()
        except OSError as error:
            taken = f"port {web.port}: {error.strerror}"
            first = "" if on else "orchestrator dashboard cannot open it: "
            yield Finding(SUBJECT, f"{first}{taken}; {OTHER_PORT}", "problem" if on else "warning")
            return
    openings = list(list_page_openings(web))
    for field, effect in openings:
        yield Finding(SUBJECT, f"channels.web.{field}: {effect}", "warning")
    if not openings:
        place = "its socket" if web.socket else f"127.0.0.1:{web.port}"
        yield Finding(SUBJECT, f"for this machine alone, by {place}")


def _describe_header_login(identity: PageIdentity, *, socket: bool) -> str:
    """Describe who can log in by the header of a proxy."""
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
