"""Find secrets of accounts that agents.json does not have, and accounts that share a secret."""

from collections.abc import Mapping

from orchestrator.agentsfile.channel_accounts import list_account_channels
from orchestrator.agentsfile.channel_kinds import load_channel_kinds, name_secret, split_account
from orchestrator.agentsfile.draft import Draft
from orchestrator.agentsfile.problems import suggest_name
from orchestrator.settings import TOKEN

SAME = (
    "channel '{name}': {variable} is that of channel '{other}', and two accounts of one bot would"
    " take each other's messages; give each bot a token of its own, or remove the account"
)
NAMELESS = "{variable} has no effect: channels.{channel} has no account {account!r}{advice}"


def check_account_secrets(draft: Draft, environ: Mapping[str, str]) -> None:
    """Close an account with the bot of another; warn about secrets of unknown accounts."""
    kinds = load_channel_kinds().items()
    secrets = {TOKEN: "telegram"} | {
        secret: name for name, kind in kinds for secret in kind.secrets
    }
    for secret, system in secrets.items():
        _close_repeated_accounts(draft, system, secret, environ)
        names = list_account_channels(draft, system)
        own = {name_secret(secret, name) for name in names}
        if system in draft.wrong_channels:  # its accounts are not known
            continue
        accounts = [account for name in names if (account := split_account(name)[1])]
        for variable in sorted(environ.keys() - own):
            account = variable.removeprefix(f"{secret}_").lower()
            if variable.startswith(f"{secret}_") and environ[variable]:
                advice = suggest_name(account, accounts, "add it there, or remove the variable")
                values = {"variable": variable, "channel": system, "account": account}
                draft.add_warning(("channels", system), NAMELESS.format(**values, advice=advice))


def _close_repeated_accounts(
    draft: Draft, system: str, variable: str, environ: Mapping[str, str]
) -> None:
    """Close each account that has secret and options of another one."""
    sections, holders = draft.channels.list_chat_channels(), dict[tuple[str, str], str]()
    for name in list_account_channels(draft, system):
        own = name_secret(variable, name)
        secret = environ.get(own, "").strip() if sections[name].enabled else ""
        bot = secret, str(sorted((sections[name].__pydantic_extra__ or {}).items()))
        if secret and holders.setdefault(bot, name) != name:
            text = SAME.format(name=name, variable=own, other=holders[bot])
            draft.add_error(("channels", name), text)
            draft.close_channel(name)
