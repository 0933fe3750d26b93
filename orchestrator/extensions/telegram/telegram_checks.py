"""Check the bot's token, and the address to which Telegram pushes updates."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

from orchestrator.agentsfile import AgentsFile
from orchestrator.agentsfile.draft import Draft
from orchestrator.agentsfile.missing_extensions import explain_entry_extension
from orchestrator.agentsfile.problems import describe_key_place
from orchestrator.extension import Finding
from orchestrator.extensions.telegram.telegram_settings import TelegramChannel
from orchestrator.settings import TOKEN, Settings

API_URL = "TELEGRAM_API_URL"
TELEGRAM = "api.telegram.org"
PORTS = (443, 80, 88, 8443)  # Bot API, setWebhook
CHANNEL = "telegram"
PLACE = ("channels", CHANNEL, "webhook")


def check_telegram(
    draft: Draft, environ: Mapping[str, str] | None, home: Path | None = None
) -> None:
    """Close the channel if Telegram cannot push to its address; warn about a bot without messages.

    ``environ`` has the token and the Bot API server; a custom server accepts any address. None
    skips the checks that need it.
    """
    _check_webhook(draft, environ)
    if environ is not None and draft.channels.is_on(CHANNEL):
        _check_token(draft, environ, home)


def list_telegram_findings(settings: Settings, file: AgentsFile) -> Iterator[Finding]:
    """Report a bot that is on but has no token, while no daemon runs."""
    if settings.telegram_bot_token is None and file.channels.get_settings(TelegramChannel).enabled:
        bound = any(binding.channel == CHANNEL for binding in file.bindings)
        text = f"off: {TOKEN} is not set"
        yield Finding(f"channel {CHANNEL}", text, "warning" if bound else "ok")


def _check_webhook(draft: Draft, environ: Mapping[str, str] | None) -> None:
    url = draft.channels.get_settings(TelegramChannel).webhook_url
    if url is None:
        return
    problem = None if environ is None or _has_own_server(environ) else _check_webhook_url(url)
    if problem is not None:
        draft.add_error((*PLACE, "url"), f"channel 'telegram': {problem}")
        draft.close_channel(CHANNEL)
    elif missing := explain_entry_extension("channels", "api"):
        draft.add_warning(
            PLACE,
            "Telegram is off: channels.api, which receives its updates,"
            f' {missing}, or remove "webhook"',
        )
    elif not draft.channels.is_on("api"):
        draft.add_warning(
            PLACE,
            "Telegram is off: channels.api, which receives its updates, is"
            ' off; set "enabled": true there, or remove "webhook"',
        )


def _check_token(draft: Draft, environ: Mapping[str, str], home: Path | None) -> None:
    """Warn about bindings without a token, and of a token without bindings."""
    bound = [number for number, item in draft.bindings.items() if item.channel == CHANNEL]
    if bound and not environ.get(TOKEN):
        draft.add_warning(
            ("bindings", bound[0]),
            f"Telegram is off: {TOKEN} is not set;"
            f" {describe_key_place(TOKEN, home)} and restart the daemon",
        )
    value = draft.document.value  # a fallback that is left out has its own message
    fallback = isinstance(value, dict) and value.get("fallbackAgentId")
    if environ.get(TOKEN) and not bound and not fallback:
        draft.add_warning(
            ("bindings",),
            f"{TOKEN} is set, but no binding leads from Telegram to an agent, so every message is"
            ' refused; add { "channel": "telegram", "chatId": "*", "agentId": "…" }',
        )


def _has_own_server(environ: Mapping[str, str]) -> bool:
    url = environ.get(API_URL)
    with suppress(ValueError):  # which the daemon refuses itself
        return bool(url) and urlsplit(url).hostname != TELEGRAM
    return True


def _check_webhook_url(url: str) -> str | None:
    """Return the reason why Telegram's own server cannot call an address, or None."""
    parts = urlsplit(url)
    if parts.scheme != "https":
        return f'"webhook" has the address {url}, but Telegram calls only https; write https://…'
    if parts.port not in (None, *PORTS):
        return (
            f'"webhook" has port {parts.port}, but Telegram calls only {_format_ports(PORTS)}; let'
            " the proxy listen on one of them"
        )
    return None


def _format_ports(ports: tuple[int, ...]) -> str:
    *others, last = map(str, ports)
    return f"{', '.join(others)} and {last}"
