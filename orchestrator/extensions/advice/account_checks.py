"""Find secrets of accounts that agents.json does not have."""

from collections.abc import Mapping

from orchestrator.agentsfile.channel_accounts import list_account_channels
from orchestrator.agentsfile.channel_kinds import load_channel_kinds, name_secret, split_account
from orchestrator.agentsfile.draft import Draft
from orchestrator.agentsfile.problems import suggest_name
from orchestrator.settings import TOKEN

NAMELESS = "{variable} has no effect: channels.{channel} has no account {account!r}{advice}"


def check_account_secrets(draft: Draft, environ: Mapping[str, str]) -> None:
    """Warn about each variable with the secret of an account that there is not."""
    kinds = load_channel_kinds().items()
    secrets = {TOKEN: "telegram"} | {
        secret: name for name, kind in kinds for secret in kind.secrets
    }
    for secret, system in secrets.items():
        names = list_account_channels(draft, system)
        own = {name_secret(secret, name) for name in names}
        accounts = [account for name in names if (account := split_account(name)[1])]
        for variable in sorted(environ.keys() - own):
            account = variable.removeprefix(f"{secret}_").lower()
            if variable.startswith(f"{secret}_") and environ[variable]:
                advice = suggest_name(account, accounts, "add it there, or remove the variable")
                values = {"variable": variable, "channel": system, "account": account}
                draft.add_warning(("channels", system), NAMELESS.format(**values, advice=advice))
