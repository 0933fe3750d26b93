"""What in `channels.api` lets others than this machine's programs reach the endpoints."""

from collections.abc import Iterator

from orchestrator.agentsfile.agents_file import LOOPBACK, ApiSettings
from orchestrator.agentsfile.draft import Draft

IN_THE_OPEN = (
    "all who reach port {port} of this machine can try the token, which travels as it is; use it in"
    " a network of containers, or let a proxy serve https"
)
WITHOUT_NAME = (
    "nothing but this machine is answered, as a request names the host that it was sent to; add"
    ' that name or address to "names"'
)
BY_SCRIPTS = "scripts of {sites} can ask, if someone gives them the token"


def check_api(draft: Draft) -> None:
    """Warn of each opening of the endpoints, and of one without effect."""
    api = draft.channels.api
    draft.warn_of("api", api_openings(api) if api.enabled else ())


def api_openings(api: ApiSettings) -> Iterator[tuple[str, str]]:
    """Yield each setting that opens the endpoints, with what others can do by it."""
    if api.host != LOOPBACK:
        opened = IN_THE_OPEN.format(port=api.port)
        yield "host", opened if api.names else WITHOUT_NAME
    if api.origins:
        yield "origins", BY_SCRIPTS.format(sites=", ".join(api.origins))
