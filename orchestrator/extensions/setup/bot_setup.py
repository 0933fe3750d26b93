"""Try a bot's token, and let the bot work in a running daemon."""

from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import anyio
from pydantic import JsonValue

from orchestrator.agentsfile.channel_kinds import ACCOUNT_SIGN, name_secret, split_account
from orchestrator.agentsfile.text_edits import replace_value
from orchestrator.errors import ConfigError
from orchestrator.extension import DaemonView
from orchestrator.extensions.setup.ability_trials import Trial, run_trial, try_bot
from orchestrator.extensions.setup.agents_text import AgentsText
from orchestrator.extensions.setup.bot_tokens import TELEGRAM, TOKEN, BotTokens, parse_account
from orchestrator.extensions.setup.proposal import (
    PAIRING,
    SetupChoices,
    choose_agent,
    find_access,
    list_agent_objects,
    propose_text,
)
from orchestrator.extensions.setup.setup_requests import (
    BotOutcome,
    BotState,
    TelegramState,
    WantedBot,
)
from orchestrator.extensions.setup.stored_keys import StoredKeys, parse_value
from orchestrator.extras import explain_missing_extension
from orchestrator.installed import list_names

API_URL = "TELEGRAM_API_URL"
WORKS = "@{bot} is connected. Write to it in Telegram"
PAIRED_LATER = "; your first message waits until it is let in"
REPLACES = "this would replace {old} by @{new}; say that you want that, or name another account"


class _Finding(NamedTuple):
    """What a trial of a token found: why it cannot be used here, and the bot that it replaces."""

    trial: Trial
    why: str = ""
    replaces: str = ""


@dataclass
class BotSetup:
    """The bots of Telegram; ``names`` are those of tokens that were tried, by channel."""

    daemon: DaemonView
    text: AgentsText
    keys: StoredKeys
    names: dict[str, str] = field(default_factory=dict)
    _trying: anyio.Lock = field(default_factory=anyio.Lock)

    async def set_up_bot(self, by: str, params: JsonValue) -> BotOutcome:
        """Try a token; one that Telegram knows is stored, and its bot answers from now on.

        Raises:
            OrchestratorError: the request cannot be right, or agents.json cannot be saved.
        """
        asked = WantedBot.model_validate(params)
        if TELEGRAM not in list_names():
            raise ConfigError(f"Telegram needs {explain_missing_extension(TELEGRAM)}")
        async with self._trying:
            return await self._set_up_bot(asked, by)

    async def _set_up_bot(self, asked: WantedBot, by: str) -> BotOutcome:
        daemon, account = self.daemon, asked.account.strip()
        account = account and parse_account(account)
        channel = f"{TELEGRAM}{ACCOUNT_SIGN}{account}" if account else TELEGRAM
        variable = name_secret(TOKEN, channel)
        token = parse_value("the token", asked.token)
        await self.keys.require_changeable(variable, token)
        stored = dict(await self.keys.read_stored())
        tokens = BotTokens(
            dict(daemon.environ), stored, partial(_ask_telegram, self._find_api_url())
        )
        found = await run_trial(_try_token, tokens, variable, token)
        if found.trial.verdict != "works" or found.why:
            return BotOutcome(works=False, text=found.why or found.trial.text)
        bot = found.trial.bot
        if found.replaces and not asked.replace:
            text = REPLACES.format(old=found.replaces, new=bot)
            return BotOutcome(works=True, text=text, bot_name=bot, replaces=found.replaces)
        text = await self._save_binding(asked.agent_id.strip(), account, bot, by)
        await self.keys.store_values({variable: token})
        self.names[channel] = bot
        later = PAIRED_LATER if find_access(text, account) == PAIRING else ""
        return BotOutcome(
            works=True,
            text=WORKS.format(bot=bot) + later,
            saved=True,
            bot_name=bot,
            link=f"https://t.me/{bot}",
        )

    def _find_api_url(self) -> str:
        return self.daemon.environ.get(API_URL) or self.daemon.settings.telegram_api_url

    async def _save_binding(self, agent_id: str, account: str, bot: str, by: str) -> str:
        """Save an agents.json in which the bot is on and leads to an agent; return its text."""
        before, value = await self.text.read_value()
        agent_id = choose_agent(agent_id, list_agent_objects(value))
        wishes = SetupChoices(agent_id, None, "", telegram=True, bot_account=account)
        text = propose_text(before.text, wishes)
        channels = value.get("channels") if isinstance(value, dict) else None
        section = channels.get(TELEGRAM) if isinstance(channels, dict) else None
        if isinstance(section, dict) and section.get("enabled") is False:
            text = replace_value(text, ("channels", TELEGRAM, "enabled"), value=True)
        if text != before.text:
            await self.text.save_text(text, before.base, f"set up the bot @{bot}", by)
        return text

    def list_bots(self) -> TelegramState:
        """Return the bots that agents.json has, or could have with a token."""
        daemon = self.daemon
        sections = daemon.get_agents_file().channels.list_chat_channels()
        names = [name for name in sections if split_account(name)[0] == TELEGRAM]
        found = []
        for name in names:
            adapter = daemon.adapters.get(name)
            status = None if adapter is None else adapter.status
            found.append(
                BotState(
                    account=split_account(name)[1],
                    token_set=bool(daemon.environ.get(name_secret(TOKEN, name))),
                    state="off" if status is None else status.state,
                    detail="" if status is None else status.detail,
                    bot_name=self.names.get(name),
                )
            )
        return TelegramState(accounts=tuple(found))


def _ask_telegram(url: str, token: str) -> Trial:
    return anyio.run(try_bot, token, url)


def _try_token(tokens: BotTokens, variable: str, token: str) -> _Finding:
    """Ask Telegram for the bot of a token, and for the one whose place it would take."""
    trial = tokens.attempt(token)
    if trial.verdict != "works":
        return _Finding(trial)
    why = tokens.explain_second_use(variable, token, trial.bot)
    old = "" if why else tokens.find_replaced_bot(variable, token, trial.bot)
    return _Finding(trial, why, old)
