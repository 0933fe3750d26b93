"""Check the bots' tokens, and the addresses to which Telegram pushes updates."""

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

from orchestrator.agentsfile import AgentsFile
from orchestrator.agentsfile.channel_accounts import (
    list_account_channels,
    list_other_accounts,
    release_default,
)
from orchestrator.agentsfile.channel_kinds import name_secret, split_account
from orchestrator.agentsfile.draft import Draft
from orchestrator.agentsfile.missing_extensions import explain_entry_extension
from orchestrator.agentsfile.problems import KEYS_FILE, describe_key_place
from orchestrator.extension import Finding
from orchestrator.extensions.telegram.telegram_settings import TelegramChannel
from orchestrator.keys_file import load_environment
from orchestrator.settings import TOKEN, Settings

API_URL = "TELEGRAM_API_URL"
TELEGRAM = "api.telegram.org"
PORTS = (443, 80, 88, 8443)  # Bot API, setWebhook
CHANNEL = "telegram"


def check_telegram(
    draft: Draft, environ: Mapping[str, str] | None, home: Path | None = None
) -> None:
    """Close bots to whose address Telegram cannot push; warn about bots without messages.

    ``environ`` has the tokens and the Bot API server; a custom server accepts any address. None
    skips the checks that need it.
    """
    if environ is not None:
        release_default(draft, CHANNEL, usable=bool(environ.get(TOKEN)))
    for name in list_account_channels(draft, CHANNEL):
        _check_webhook(draft, name, environ)
        if environ is not None and draft.channels.is_on(name):
            _check_token(draft, name, environ, home)


def list_telegram_findings(settings: Settings, file: AgentsFile) -> Iterator[Finding]:
    """Report each bot that is on but has no token, while no daemon runs."""
    environ = load_environment(settings.home, os.environ)
    bound = {binding.channel for binding in file.bindings}
    for name, section in file.channels.list_chat_channels().items():
        variable = name_secret(TOKEN, name)
        if isinstance(section, TelegramChannel) and section.enabled and not environ.get(variable):
            text = f"off: {variable} is not set"
            yield Finding(f"channel {name}", text, "warning" if name in bound else "ok")


def _check_webhook(draft: Draft, name: str, environ: Mapping[str, str] | None) -> None:
    section, place = draft.channels.list_chat_channels()[name], ("channels", name, "webhook")
    url = section.webhook_url if isinstance(section, TelegramChannel) else None
    if url is None:
        return
    problem = None if environ is None or _has_own_server(environ) else _check_webhook_url(url)
    if problem is not None:
        draft.add_error((*place, "url"), f"channel '{name}': {problem}")
        draft.close_channel(name)
    elif missing := explain_entry_extension("channels", "api"):
        draft.add_warning(
            place,
            "Telegram is off: channels.api, which receives its updates,"
            f' {missing}, or remove "webhook"',
        )
    elif not draft.channels.is_on("api"):
        draft.add_warning(
            place,
            "Telegram is off: channels.api, which receives its updates, is"
            ' off; set "enabled": true there, or remove "webhook"',
        )


def _check_token(draft: Draft, name: str, environ: Mapping[str, str], home: Path | None) -> None:
    """Warn about bindings without a token, accounts without one, and a token without bindings."""
    bound = [number for number, item in draft.bindings.items() if item.channel == name]
    variable, (_, account) = name_secret(TOKEN, name), split_account(name)
    title = f"Telegram ({name})" if account else "Telegram"
    if (bound or account) and not environ.get(variable):
        draft.add_warning(
            ("bindings", bound[0]) if bound else ("channels", name),
            f"{title} is off: {variable} is not set; {describe_key_place(variable, home)}"
            f"{_describe_first_reload(home)}{list_other_accounts(draft, name)}",
        )
    value = draft.document.value  # a fallback that is left out has its own message
    fallback = isinstance(value, dict) and value.get("fallbackAgentId")
    if environ.get(variable) and not bound and not fallback:
        named = f'"account": "{account}", ' if account else ""
        draft.add_warning(
            ("bindings",),
            f"{variable} is set, but no binding leads from {title} to an agent, so every message is"
            f' refused; add {{ "channel": "telegram", {named}"chatId": "*", "agentId": "…" }}',
        )


def _describe_first_reload(home: Path | None) -> str:
    """Return what a daemon needs that does not watch keys.env, as there is none yet."""
    return "" if home is None or (home / KEYS_FILE).exists() else " and run: orchestrator reload"


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
