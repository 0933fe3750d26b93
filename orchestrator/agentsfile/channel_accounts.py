"""Load the accounts of a chat system.

An account has the settings of its channel but for those that it sets itself, and secrets of its
own, named after those of the default account: ``TELEGRAM_BOT_TOKEN_WORK``.
"""

import re
from collections.abc import Iterator

from pydantic import JsonValue

from orchestrator.agentsfile.channel_kinds import ACCOUNT_SIGN, split_account
from orchestrator.agentsfile.chat_channels import ChatChannel
from orchestrator.agentsfile.draft import Draft
from orchestrator.agentsfile.field_types import ACCOUNT_NAME, PATTERN_WORDS
from orchestrator.agentsfile.valid_parts import load_section

FIELD = "accounts"
NOT_ALLOWED = "channel '{name}': an account has no \"accounts\" of its own; remove them"
OR_NAME_ACCOUNT = '; or set "account" in the binding: {accounts}'


def load_accounts(
    draft: Draft, channel: str, section: JsonValue, settings: ChatChannel
) -> Iterator[tuple[str, ChatChannel]]:
    """Yield the channels of the accounts of a valid section; one with an error is switched off."""
    above = section if isinstance(section, dict) else {}
    inherited = {key: value for key, value in above.items() if key != FIELD}
    for account, own in settings.accounts.items():
        name, at = f"{channel}{ACCOUNT_SIGN}{account}", ("channels", channel, FIELD, account)
        if not re.fullmatch(ACCOUNT_NAME, account):
            words = PATTERN_WORDS[ACCOUNT_NAME]
            draft.add_error(at, f"channels.{channel}.{FIELD}: the name {account!r} {words}")
            continue
        found: ChatChannel | None = None
        if FIELD in own:
            draft.add_error((*at, FIELD), NOT_ALLOWED.format(name=name))
        else:
            whole: JsonValue = {**inherited, **own}
            found = load_section(draft, at, whole, type(settings), f"channel '{name}'")
        if found is None:
            draft.wrong_channels.add(name)
        yield name, found or type(settings)(enabled=False)


def list_account_channels(draft: Draft, system: str) -> list[str]:
    """Return the channels of a chat system: the default one, if it is in the file, and accounts."""
    names = draft.channels.list_chat_channels()
    return [name for name in names if split_account(name)[0] == system]


def release_default(draft: Draft, system: str, *, usable: bool) -> None:
    """Switch off a default account that is not ``usable`` if only others are meant.

    They are if the channel has accounts, and no binding leads to the default one.
    """
    section = draft.channels.list_chat_channels().get(system)
    bound = any(binding.channel == system for binding in draft.bindings.values())
    if section is not None and section.accounts and not (bound or usable):
        draft.replace_channel(system, section.model_copy(update={"enabled": False}))


def list_other_accounts(draft: Draft, channel: str) -> str:
    """Return the end of advice: the accounts that a binding may name instead of the default one."""
    section = draft.channels.list_chat_channels().get(channel)
    accounts = ", ".join(f'"{account}"' for account in section.accounts) if section else ""
    return OR_NAME_ACCOUNT.format(accounts=accounts) if accounts else ""
