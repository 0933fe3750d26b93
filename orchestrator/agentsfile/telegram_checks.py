"""Checks of the address that Telegram is to push updates to."""

from collections.abc import Mapping
from contextlib import suppress
from urllib.parse import urlsplit

from orchestrator.agentsfile.draft import Draft

API_URL = "TELEGRAM_API_URL"
TELEGRAM = "api.telegram.org"
PORTS = (443, 80, 88, 8443)  # Bot API, setWebhook
PLACE = ("channels", "telegram", "webhook")


def check_telegram(draft: Draft, environ: Mapping[str, str] | None) -> None:
    """Close the channel if Telegram cannot push to its address; warn if none takes it there.

    ``environ`` names the Bot API server; None skips what depends on it. One of your own takes any
    address.
    """
    telegram = draft.channels.telegram
    url = telegram.webhook_url
    if url is None:
        return
    problem = None if environ is None or _own_server(environ) else _refused(url)
    if problem is not None:
        draft.error((*PLACE, "url"), f"channel 'telegram': {problem}")
        closed = telegram.model_copy(update={"enabled": False})
        draft.channels = draft.channels.model_copy(update={"telegram": closed})
        draft.wrong_channels.add("telegram")
    elif not draft.channels.api.enabled:
        draft.warn(
            PLACE,
            "no message comes from Telegram, because channels.api, which takes what it pushes, is"
            ' off; set "enabled": true there, or remove "webhook"',
        )


def _own_server(environ: Mapping[str, str]) -> bool:
    url = environ.get(API_URL)
    with suppress(ValueError):  # which the daemon refuses itself
        return bool(url) and urlsplit(url).hostname != TELEGRAM
    return True


def _refused(url: str) -> str | None:
    """Return why Telegram's own server calls no such address."""
    parts = urlsplit(url)
    if parts.scheme != "https":
        return f'"webhook" has the address {url}, but Telegram calls only https; write https://…'
    if parts.port not in (None, *PORTS):
        return (
            f'"webhook" has port {parts.port}, but Telegram calls only {_listed(PORTS)}; let the'
            " proxy listen on one of them"
        )
    return None


def _listed(ports: tuple[int, ...]) -> str:
    *others, last = map(str, ports)
    return f"{', '.join(others)} and {last}"
