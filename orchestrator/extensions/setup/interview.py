"""Ask for missing settings, and try each answer at its service."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from urllib.parse import urlsplit

import anyio
import typer

from orchestrator.agentsfile import AgentsFileError, parse_agents_file
from orchestrator.agentsfile.channel_kinds import ACCOUNT_SIGN, name_secret
from orchestrator.agentsfile.positions import parse_json_document
from orchestrator.agentsfile.problems import suggest_name
from orchestrator.cli.output import make_printable
from orchestrator.errors import ConfigError, OrchestratorError
from orchestrator.extensions.setup.ability_trials import (
    Trial,
    try_account,
    try_bot,
    try_model,
    try_window,
)
from orchestrator.extensions.setup.bot_tokens import (
    TELEGRAM,
    TOKEN,
    BotTokens,
    parse_account,
    propose_account,
)
from orchestrator.extensions.setup.key_choices import KeyChoices
from orchestrator.extensions.setup.model_account import (
    FIRST_AGENT,
    LOCAL,
    SHOWN,
    ModelAccount,
    find_account,
    find_account_with_key,
    find_agent_account,
)
from orchestrator.extensions.setup.proposal import (
    PAIRING,
    SetupChoices,
    find_access,
    list_agent_objects,
    require_no_other_account,
)
from orchestrator.extensions.setup.questions import Questions
from orchestrator.extensions.setup.small_models import SMALL_WINDOW, fetch_local_model
from orchestrator.extras import explain_missing_extension
from orchestrator.installed import list_names
from orchestrator.processes.local_models import find_local_servers
from thinker.protocol.local_addresses import is_local_address
from thinker.protocol.messages import JsonObject
from thinker.protocol.providers import PROVIDERS, Provider

NONE = "-"  # typed for no account where Enter takes the proposed one
AN_ADDRESS = "https://NAME.openai.azure.com"


@dataclass(frozen=True)
class GivenAnswers:
    """The answers given on the command line; empty where none is given."""

    provider: str = ""
    key: str = field(default="", repr=False)
    model: str = ""
    agent: str = ""
    token: str = field(default="", repr=False)
    allow: tuple[str, ...] = ()
    account: str = ""  # of Telegram; empty for the default one


@dataclass(frozen=True)
class ExistingSetup:
    """The existing setup: the text of agents.json, if any, and all keys that are set.

    ``environ`` has the shell's keys and those ``stored`` in keys.env.
    """

    text: str | None
    environ: Mapping[str, str] = field(repr=False)
    stored: Mapping[str, str] = field(repr=False)
    telegram_api_url: str
    home: Path = Path()

    @property
    def agents(self) -> list[JsonObject]:
        return [] if self.text is None else list_agent_objects(parse_json_document(self.text).value)

    @cached_property
    def providers(self) -> Mapping[str, Provider]:
        """The providers that agents of the file can name."""
        try:
            return (
                PROVIDERS
                if self.text is None
                else parse_agents_file(self.text.encode()).file.known_providers
            )
        except AgentsFileError:
            return PROVIDERS


@dataclass
class Interview:
    """One run of the questions; ``values`` are the keys to store."""

    options: GivenAnswers
    before: ExistingSetup
    ask: Questions
    values: dict[str, str] = field(default_factory=dict, repr=False)
    key: str = field(default="", repr=False)  # of the model
    bot: str = ""
    answers: bool = True  # whether a first answer is possible

    def ask_wishes(self) -> SetupChoices:
        """Ask all questions.

        Raises:
            OrchestratorError: an answer from the command line does not work.
        """
        agents = self.before.agents
        known = [str(agent.get("agentId")) for agent in agents if agent.get("enabled") is not False]
        agent_id = self.options.agent or (known[0] if known else FIRST_AGENT)
        agent = next((one for one in agents if one.get("agentId") == agent_id), None)
        found, kept = self._choose_account(agent)
        if agent is not None and not kept:  # before asking for settings that could not be used
            fields = found.build_fields(self._find_kept_model(agent))
            require_no_other_account(agent, {**fields, "env": agent.get("env")})
        choices = KeyChoices(agent_id, agents, self.before.environ, self.before.providers)
        chosen, models = self._obtain_key(
            found if kept else choices.reuse_key_variable(found), choices
        )
        model = self._find_kept_model(agent) if kept else ""
        model = model if kept and (model or chosen == found) else self._choose_model(chosen, models)
        window = None if kept else self._find_small_window(chosen, model)
        telegram = self._set_up_bot(agent_id)
        allow = self._ask_allowed_ids() if telegram else ()
        same = kept and chosen == found
        window = None if same else window
        return SetupChoices(
            agent_id,
            None if same else chosen,
            model,
            telegram,
            allow,
            window,
            bot_account=self.options.account,
        )

    def _find_small_window(self, chosen: ModelAccount, model: str) -> int | None:
        """Return the window of a local model that gets the profile for small ones; else None."""
        if not model or self.key or not is_local_address(chosen.url):
            return None
        window = anyio.run(try_window, chosen, model)
        if window is None:
            typer.echo(
                f"{chosen.name} does not say how much {make_printable(model)} reads at once."
            )
            return None
        typer.echo(f"{make_printable(model)} reads {window} tokens at once.")
        question = "That is little. Give the agent few tools, no skills and short answers?"
        return window if window <= SMALL_WINDOW and self.ask.ask_yes_no(question) else None

    # --- the model -------------------------------------------------------------------------------

    def _choose_account(self, agent: JsonObject | None) -> tuple[ModelAccount, bool]:
        """Return the account, and whether it is the agent's present one."""
        if self.options.provider:
            return self._resolve_account(self.options.provider), False
        known = self.before.providers
        current = None if agent is None else find_agent_account(agent, self.before.environ, known)
        if agent is not None and current is not None and self._is_usable(current):
            name = f"{current.name} {self._find_kept_model(agent)}".strip()
            if self.options.model:
                return current, False
            if self.ask.ask_yes_no(
                f"Agent '{agent['agentId']}' uses {make_printable(name)}. Keep that?"
            ):
                return current, True
        return self._ask_provider(), False

    def _is_usable(self, found: ModelAccount) -> bool:
        """Return whether an agent's account works, a missing key aside."""
        return found.provider.name != "demo" or not self.ask.is_asking

    def _find_kept_model(self, agent: JsonObject | None) -> str:
        return str((agent or {}).get("model") or "")

    def _ask_provider(self) -> ModelAccount:
        local = {endpoint.provider for endpoint in anyio.run(find_local_servers)}
        names: dict[str, str] = {}
        for name in (*SHOWN, *sorted(local.difference(SHOWN))):
            found = find_account(name)
            is_set = found.key_var and self.before.environ.get(found.key_var)
            names[name] = (
                f"{found.key_var} is set"
                if is_set
                else "runs on this machine"
                if name in local
                else "a model of 135 million parameters, 127 MB to download"
                if name == LOCAL
                else "rules without a model, to try everything else"
                if name == "demo"
                else ""
            )
        usual = find_account_with_key(self.before.environ, self.before.providers)
        first = usual.name if usual else next(iter(sorted(local)), "demo")
        if self.ask.is_asking:
            typer.echo(
                "\nWhich models? Type a number, a name, or the address of an OpenAI-compatible API"
                "\nsuch as https://HOST/v1; names that are not listed, such as cohere, work too."
            )
        while True:
            name = self.ask.ask_choice("Provider", "--provider", names, first)
            try:
                return self._resolve_account(name)
            except OrchestratorError as error:
                if not self.ask.is_asking:
                    raise
                typer.echo(make_printable(str(error)))

    def _resolve_account(self, name: str) -> ModelAccount:
        """Return the account of this name, asking for a missing address."""
        found = find_account(name, known=self.before.providers)
        if found.url or found.provider.wire == "demo":
            return found
        question = f"Address of your resource at {found.provider.title}, such as {AN_ADDRESS}"
        url = self.ask.ask_text(question, "--provider", "")
        if not url.startswith(("http://", "https://")):
            raise ConfigError(f"{found.name} needs the address of your resource; give {AN_ADDRESS}")
        return find_account(found.name, url, self.before.providers)

    def _obtain_key(
        self, chosen: ModelAccount, choices: KeyChoices
    ) -> tuple[ModelAccount, tuple[str, ...]]:
        """Obtain a working key and note it; return its account and models."""
        name, host = chosen.key_var or "", urlsplit(chosen.url).netloc
        if chosen.key_in_file:
            return chosen, ()
        if chosen.provider.name == LOCAL and not chosen.base_url:
            fetch_local_model(self.before.home, ask=self.ask.is_asking)
            return chosen, (chosen.provider.default_model,)
        key = self.options.key or choices.find_allowed_key(chosen)
        if not key and self.before.environ.get(name):
            typer.echo(f"{name} is for another address, so {host} does not get it.")
        if chosen.key_var is not None and not key and (chosen.needs_key or self.ask.is_asking):
            key = self.ask.ask_secret(f"Key for {host} (hidden; Enter to go without)", "--key-from")
        if not key and chosen.needs_key:
            self.answers = False
            typer.echo(f"{chosen.name}: no key. Put {name} into keys.env before you start.")
            return chosen, ()
        again = partial(
            self.ask.ask_secret, f"Another key for {host} (Enter to go without)", "--key-from"
        )
        key, trial = self._try_secrets(
            lambda key: anyio.run(try_account, chosen, key), key, again, "--key-from"
        )
        self.answers = self.answers and trial.verdict == "works"
        self.key = key
        if key and not name:
            chosen = replace(chosen, key_var=chosen.provider.key_var)
        chosen = choices.assign_key_variable(chosen, key)
        self._note_secret(chosen.key_var or "", key)
        return chosen, trial.models

    def _note_secret(self, name: str, secret: str) -> None:
        """Note a secret, unless it is stored or should stay in the shell."""
        if not name or not secret or self.before.stored.get(name) == secret:
            return
        if self.before.environ.get(name) != secret or self.ask.ask_yes_no(
            f"{name} is set only in this shell. Store it for the daemon?"
        ):
            self.values[name] = secret

    def _try_secrets(
        self, attempt: Callable[[str], Trial], secret: str, other: Callable[[], str], option: str
    ) -> tuple[str, Trial]:
        """Try a secret, and others until one works or the person gives up."""
        while True:
            trial = attempt(secret)
            typer.echo(make_printable(trial.text))
            if trial.verdict == "works":
                return secret, trial
            if trial.verdict == "unreachable":
                if not self.ask.is_asking or not self.ask.ask_yes_no("Try again?"):
                    typer.echo("It was not tried.")
                    return secret, trial
                continue
            if not self.ask.is_asking:
                raise OrchestratorError(f"nothing was written; give a valid secret with {option}")
            secret = other()
            if not secret:
                return "", trial

    def _choose_model(self, chosen: ModelAccount, models: tuple[str, ...]) -> str:
        usual = chosen.provider.default_model if not chosen.base_url else ""
        first = usual if usual and (not models or usual in models) else next(iter(models), usual)
        if chosen.provider.name == "demo":
            return ""
        if self.ask.is_asking and len(models) > 1 and not self.options.model:
            typer.echo(f"Tab shows the {len(models)} models.")
        name = self.options.model
        while True:
            name = name or self.ask.ask_text("Model", "--model", first, models)
            if not name and not self.ask.is_asking:
                raise OrchestratorError("nothing was written; no model is known; give --model")
            if not name or name in models or not self.answers:
                return name
            if models:
                advice = suggest_name(name, models, "it is tried anyway")
                typer.echo(make_printable(f"{name} is not listed{advice}"))
            trial = anyio.run(try_model, chosen, self.key, name)
            typer.echo(make_printable(trial.text))
            if trial.verdict == "works":
                return name
            if not self.ask.is_asking:
                raise OrchestratorError("nothing was written; give another --model")
            name = ""

    # --- the bot ---------------------------------------------------------------------------------

    @property
    def token_variable(self) -> str:
        """The variable for the token of the bot that is set up."""
        return name_secret(TOKEN, f"{TELEGRAM}{ACCOUNT_SIGN}{self.options.account}")

    def _set_up_bot(self, agent_id: str) -> bool:
        """Obtain a working token and note it; return whether there is a bot.

        Raises:
            ConfigError: a token was given, but Telegram is not installed.
            OrchestratorError: the token is in use, or would replace that of another bot.
        """
        if TELEGRAM not in list_names():
            if self.options.token:
                raise ConfigError(f"{TOKEN} needs {explain_missing_extension(TELEGRAM)}")
            return False
        self._ask_account()
        variable, account = self.token_variable, self.options.account
        token = self.options.token or self.before.environ.get(variable, "")
        which = f" for the account {account}" if account else ""
        question = f"Telegram bot token{which} from @BotFather (hidden; Enter for no bot)"
        token = token or self.ask_token(question)
        again = partial(self.ask_token, "Another token (Enter for no bot)")
        while token:
            token, trial = self._try_secrets(self._try_token, token, again, "--telegram-token-from")
            if not token or self._may_store_token(token, trial.bot, agent_id):
                self.bot = trial.bot
                self._note_secret(variable, token)
                break
            token = again()
        return bool(token)

    def _try_token(self, token: str) -> Trial:
        return anyio.run(try_bot, token, self.before.telegram_api_url)

    def _may_store_token(self, token: str, bot: str, agent_id: str) -> bool:
        """Return whether a token can be stored, asking a person who would replace a bot."""
        tokens = BotTokens(self.before.environ, self.before.stored, self._try_token)
        variable, new = self.token_variable, f"@{bot}" if bot else "an untried bot"
        why = tokens.explain_second_use(variable, token, bot)
        old = "" if why else tokens.find_replaced_bot(variable, token, bot)
        if old and self.ask.is_asking:
            return self.ask.ask_yes_no(f"Replace {old} by {new}?", default=False)
        if old:
            why = f"this would replace {old} by {new}; {tokens.advise_addition(agent_id)}"
        if why and not self.ask.is_asking:
            raise OrchestratorError(why)
        if why:
            typer.echo(make_printable(why))
        return not why

    def _ask_account(self) -> None:
        """Ask for the name of a second bot, if there is a first one."""
        if not self.before.environ.get(TOKEN) or not self.ask.is_asking or self.options.token:
            return
        proposed = propose_account(self.options.agent)
        example, none = ("", NONE) if proposed else (", such as work", "Enter")
        question = f"There is a bot. For one more, name its account{example} ({none} for none)"
        while name := self.ask.ask_text(question, "--telegram-token-from", proposed):
            if name == none:
                return
            try:
                self.options = replace(self.options, account=parse_account(name))
            except OrchestratorError as error:
                typer.echo(make_printable(str(error)))
            else:
                return

    def ask_token(self, question: str) -> str:
        """Return a token; empty without a terminal, where no bot is asked for."""
        return self.ask.ask_secret(question, "--telegram-token-from") if self.ask.is_asking else ""

    def _ask_allowed_ids(self) -> tuple[str, ...]:
        """Return who may write to the bot; empty to leave that unchanged."""
        if self.options.allow or not self.ask.is_asking or self._is_access_set():
            return parse_allowed_ids(",".join(self.options.allow))
        typer.echo(
            "Who may write to the bot? Numbers of users or chats (@userinfobot tells yours), or"
            " Enter: each new chat gets a code, and you approve it."
        )
        while True:
            try:
                return parse_allowed_ids(self.ask.ask_text("Who", "--allow", PAIRING), "")
            except OrchestratorError as error:
                typer.echo(make_printable(str(error)))

    def _is_access_set(self) -> bool:
        return (
            self.before.text is not None
            and find_access(self.before.text, self.options.account) != PAIRING
        )


def parse_allowed_ids(text: str, option: str = "--allow: ") -> tuple[str, ...]:
    """Parse a list of ids, or `PAIRING`; messages begin with ``option``.

    Raises:
        OrchestratorError: a part is not an id.
    """
    parts = tuple(text.replace(",", " ").split())
    if parts == (PAIRING,):
        return parts
    for part in parts:
        if not (part.isascii() and part.removeprefix("-").isdecimal()):
            raise OrchestratorError(
                f"{option}{part!r} is not the number of a user or chat; names can be taken over by"
                f" someone else. Write numbers, or {PAIRING} alone"
            )
    return parts
