"""Keep each bot's token in a variable of its own, and name the accounts of bots."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain, count

from orchestrator.agentsfile.channel_kinds import ACCOUNT_SIGN, name_secret
from orchestrator.agentsfile.field_types import ACCOUNT_NAME, PATTERN_WORDS
from orchestrator.errors import OrchestratorError
from orchestrator.extensions.setup.ability_trials import BOT_TOKEN, Trial

TELEGRAM = "telegram"
TOKEN = "TELEGRAM_BOT_TOKEN"  # noqa: S105 - a variable's name


@dataclass(frozen=True)
class BotTokens:
    """The tokens that are set, and a way to ask Telegram for a token's bot.

    ``stored`` are the keys of keys.env, ``environ`` has them and those of the shell.
    """

    environ: Mapping[str, str] = field(repr=False)
    stored: Mapping[str, str] = field(repr=False)
    attempt: Callable[[str], Trial]

    def explain_second_use(self, variable: str, token: str, bot: str) -> str:
        """Return why a token cannot go into a variable: another one has it. Empty if none has."""
        if self.stored.get(variable) == token:
            return ""
        known = {**self.environ, **self.stored}
        used = any(
            value == token and name != variable and _is_token_variable(name)
            for name, value in known.items()
        )
        shown = f"@{bot}" if bot else "the bot of this token"
        return (
            f"{shown} is already the bot of this home; make another at @BotFather" if used else ""
        )

    def find_replaced_bot(self, variable: str, token: str, bot: str) -> str:
        """Return the working bot whose token would be replaced by that of another bot.

        A token that Telegram no longer knows has no bot. One that cannot be tried may have one.
        """
        old = self.stored.get(variable) or self.environ.get(variable, "")
        if not old or old == token:
            return ""
        trial = self.attempt(old)
        if trial.verdict == "works":
            return "" if trial.bot == bot else f"@{trial.bot}"
        untried = trial.verdict == "unreachable"
        return f"the bot of {variable}, which cannot be tried now," if untried else ""

    def advise_addition(self, agent_id: str) -> str:
        """Return how to add a bot instead, with a variable that is not in use."""
        name = next(
            variable
            for variable in _list_variables(agent_id)
            if variable not in self.environ and variable not in self.stored
        )
        return f"to add a bot, put its token into {name} and use --telegram-token-from {name}"


def _is_token_variable(name: str) -> bool:
    return name == TOKEN or name.startswith(f"{TOKEN}_")


def _list_variables(agent_id: str) -> Iterator[str]:
    """Yield variables for another bot's token; the agent's name comes first."""
    for account in chain(
        (propose_account(agent_id) or "work", "work"), map("bot{}".format, count(2))
    ):
        yield name_secret(TOKEN, f"{TELEGRAM}{ACCOUNT_SIGN}{account}")


def propose_account(agent_id: str) -> str:
    """Return the account named like an agent; empty if no account can have that name."""
    name = agent_id.lower()
    return name if re.fullmatch(ACCOUNT_NAME, name) else ""


def parse_account(text: str) -> str:
    """Return the name of an account.

    Raises:
        OrchestratorError: the text is not one; a token is not repeated.
    """
    if BOT_TOKEN.search(text):
        raise OrchestratorError(
            "that is a token, not the name of an account; the token is asked for next"
        )
    if not re.fullmatch(ACCOUNT_NAME, text):
        raise OrchestratorError(f"the account {text!r} {PATTERN_WORDS[ACCOUNT_NAME]}")
    return text
