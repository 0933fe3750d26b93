"""Check settings of `channels.api` that let others than local programs reach the endpoints."""

from collections.abc import Iterator

from orchestrator.agentsfile.draft import Draft
from orchestrator.extensions.http_api.api_settings import LOOPBACK, ApiSettings

IN_THE_OPEN = (
    "anyone who reaches port {port} of this machine can try the token, which is sent unencrypted;"
    " use it in a network of containers, or let a proxy serve https"
)
WITHOUT_NAME = (
    "only this machine gets answers, because of the Host header; add"
    ' that name or address to "names"'
)
BY_SCRIPTS = "scripts of {sites} can ask, if someone gives them the token"


def check_api(draft: Draft) -> None:
    """Warn about each setting that opens the endpoints, and about those without effect."""
    api = draft.channels.get_settings(ApiSettings)
    draft.add_effect_warnings("api", list_api_openings(api) if api.enabled else ())


def list_api_openings(api: ApiSettings) -> Iterator[tuple[str, str]]:
    """Yield each setting that opens the endpoints, and what it allows others to do."""
    if api.host != LOOPBACK:
        opened = IN_THE_OPEN.format(port=api.port)
        yield "host", opened if api.names else WITHOUT_NAME
    if api.origins:
        yield "origins", BY_SCRIPTS.format(sites=", ".join(api.origins))
