"""Ask what is missing, and try each answer at the service it is for."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from urllib.parse import urlsplit

import anyio
import typer

from orchestrator.agentsfile import AgentsFileError, parse
from orchestrator.agentsfile.positions import read
from orchestrator.agentsfile.problems import suggestion
from orchestrator.cli._output import printable
from orchestrator.cli.setup.key_choices import KeyChoices
from orchestrator.cli.setup.model_account import (
    ModelAccount,
    account,
    of_agent,
    with_a_key,
)
from orchestrator.cli.setup.proposal import PAIRING, Wishes, access_of, agents_in, require_no_other
from orchestrator.cli.setup.questions import Questions
from orchestrator.cli.setup.trials import Trial, try_account, try_bot, try_model
from orchestrator.errors import ConfigError, OrchestratorError
from orchestrator.processes.local_models import local_servers
from thinker.protocol.messages import JsonObject
from thinker.protocol.providers import PROVIDERS, Provider

TOKEN = "TELEGRAM_BOT_TOKEN"  # noqa: S105 - a variable's name
SHOWN = (
    *("anthropic", "openai", "gemini", "mistral", "deepseek", "xai", "groq", "together", "azure"),
    *("openrouter", "ollama", "lmstudio", "demo"),
)
FIRST_AGENT = "assistant"
AN_ADDRESS = "https://NAME.openai.azure.com"


@dataclass(frozen=True)
class GivenAnswers:
    """What the command line says; empty where it says nothing."""

    provider: str = ""
    key: str = field(default="", repr=False)
    model: str = ""
    agent: str = ""
    token: str = field(default="", repr=False)
    allow: tuple[str, ...] = ()


@dataclass(frozen=True)
class Situation:
    """What is there before: the text of agents.json if there is one, and all keys that are set.

    ``environ`` has those of the shell and those that are ``stored`` in keys.env.
    """

    text: str | None
    environ: Mapping[str, str] = field(repr=False)
    stored: Mapping[str, str] = field(repr=False)
    telegram_api_url: str

    @property
    def agents(self) -> list[JsonObject]:
        return [] if self.text is None else agents_in(read(self.text).value)

    @cached_property
    def providers(self) -> Mapping[str, Provider]:
        """The providers that agents of the file can name."""
        try:
            return (
                PROVIDERS if self.text is None else parse(self.text.encode()).file.known_providers
            )
        except AgentsFileError:
            return PROVIDERS


@dataclass
class Interview:
    """One run of the questions. ``values`` are the keys that are to be stored."""

    options: GivenAnswers
    before: Situation
    ask: Questions
    values: dict[str, str] = field(default_factory=dict, repr=False)
    key: str = field(default="", repr=False)  # of the model
    bot: str = ""
    answers: bool = True  # whether a first answer can be expected

    def wishes(self) -> Wishes:
        """Ask everything.

        Raises:
            OrchestratorError: an answer of the command line does not work.
        """
        agents = self.before.agents
        known = [str(agent.get("agentId")) for agent in agents if agent.get("enabled") is not False]
        agent_id = self.options.agent or (known[0] if known else FIRST_AGENT)
        agent = next((one for one in agents if one.get("agentId") == agent_id), None)
        found, kept = self._account(agent)
        if agent is not None and not kept:  # before it asks for what could not be used
            fields = found.fields(self._kept_model(agent))
            require_no_other(agent, {**fields, "env": agent.get("env")})
        choices = KeyChoices(agent_id, agents, self.before.environ, self.before.providers)
        chosen, models = self._key(found if kept else choices.known(found), choices)
        model = self._kept_model(agent) if kept else ""
        model = model if kept and (model or chosen == found) else self._model(chosen, models)
        telegram = self._telegram()
        allow = self._allowed() if telegram else ()
        same = kept and chosen == found
        return Wishes(agent_id, None if same else chosen, model, telegram, allow)

    # --- the model -------------------------------------------------------------------------------

    def _account(self, agent: JsonObject | None) -> tuple[ModelAccount, bool]:
        """Return the account, and whether it is the one that the agent has."""
        if self.options.provider:
            return self._named(self.options.provider), False
        known = self.before.providers
        current = None if agent is None else of_agent(agent, self.before.environ, known)
        if agent is not None and current is not None and self._usable(current):
            name = f"{current.name} {self._kept_model(agent)}".strip()
            if self.options.model:
                return current, False
            if self.ask.agreed(f"Agent '{agent['agentId']}' uses {printable(name)}. Keep that?"):
                return current, True
        return self._chosen(), False

    def _usable(self, found: ModelAccount) -> bool:
        """Whether an agent needs no other provider: only its key may be missing."""
        return found.provider.name != "demo" or not self.ask.asking

    def _kept_model(self, agent: JsonObject | None) -> str:
        return str((agent or {}).get("model") or "")

    def _chosen(self) -> ModelAccount:
        local = {endpoint.provider for endpoint in anyio.run(local_servers)}
        names: dict[str, str] = {}
        for name in SHOWN:
            found = account(name)
            is_set = found.key_var and self.before.environ.get(found.key_var)
            names[name] = (
                f"{found.key_var} is set"
                if is_set
                else "runs on this machine"
                if name in local
                else "rules and no model, to try the rest"
                if name == "demo"
                else ""
            )
        usual = with_a_key(self.before.environ, self.before.providers)
        first = usual.name if usual else next(iter(sorted(local)), "demo")
        if self.ask.asking:
            typer.echo(
                "\nWhich models? Type a number, a name, or the address of an OpenAI-compatible API"
                "\nsuch as https://HOST/v1; names that are not listed, such as cohere, work too."
            )
        while True:
            name = self.ask.choice("Provider", "--provider", names, first)
            try:
                return self._named(name)
            except OrchestratorError as error:
                if not self.ask.asking:
                    raise
                typer.echo(printable(str(error)))

    def _named(self, name: str) -> ModelAccount:
        """Return the account of this name; ask for the address if the provider has none."""
        found = account(name, known=self.before.providers)
        if found.url or found.provider.wire == "demo":
            return found
        question = f"Address of your resource at {found.provider.title}, such as {AN_ADDRESS}"
        url = self.ask.text(question, "--provider", "")
        if not url.startswith(("http://", "https://")):
            raise ConfigError(f"{found.name} needs the address of your resource; give {AN_ADDRESS}")
        return account(found.name, url, self.before.providers)

    def _key(
        self, chosen: ModelAccount, choices: KeyChoices
    ) -> tuple[ModelAccount, tuple[str, ...]]:
        """Get a key that works and note it; return its account, and the models that it opens."""
        name, host = chosen.key_var or "", urlsplit(chosen.url).netloc
        if chosen.key_in_file:
            return chosen, ()
        key = self.options.key or choices.allowed(chosen)
        if not key and self.before.environ.get(name):
            typer.echo(f"{name} is for another address, so {host} does not get it.")
        if chosen.key_var is not None and not key and (chosen.needs_key or self.ask.asking):
            key = self.ask.secret(f"Key for {host} (hidden; Enter to go without)", "--key-from")
        if not key and chosen.needs_key:
            self.answers = False
            typer.echo(f"{chosen.name}: no key. Put {name} into keys.env before you start.")
            return chosen, ()
        again = partial(
            self.ask.secret, f"Another key for {host} (Enter to go without)", "--key-from"
        )
        key, trial = self._tried(
            lambda key: anyio.run(try_account, chosen, key), key, again, "--key-from"
        )
        self.answers = self.answers and trial.verdict == "works"
        self.key = key
        if key and not name:
            chosen = replace(chosen, key_var=chosen.provider.key_var)
        chosen = choices.named(chosen, key)
        self._store(chosen.key_var or "", key)
        return chosen, trial.models

    def _store(self, name: str, secret: str) -> None:
        """Note a secret, unless it is stored already or the person wants it in the shell alone."""
        if not name or not secret or self.before.stored.get(name) == secret:
            return
        if self.before.environ.get(name) != secret or self.ask.agreed(
            f"{name} is set in this shell alone. Store it for the daemon?"
        ):
            self.values[name] = secret

    def _tried(
        self, attempt: Callable[[str], Trial], secret: str, other: Callable[[], str], option: str
    ) -> tuple[str, Trial]:
        """Try a secret, and others until one works or the person goes without."""
        while True:
            trial = attempt(secret)
            typer.echo(printable(trial.text))
            if trial.verdict == "works":
                return secret, trial
            if trial.verdict == "unreachable":
                if not self.ask.asking or not self.ask.agreed("Try again?"):
                    typer.echo("So it was not tried.")
                    return secret, trial
                continue
            if not self.ask.asking:
                raise OrchestratorError(f"nothing was written; give a valid secret with {option}")
            secret = other()
            if not secret:
                return "", trial

    def _model(self, chosen: ModelAccount, models: tuple[str, ...]) -> str:
        usual = chosen.provider.default_model if not chosen.base_url else ""
        first = usual if usual and (not models or usual in models) else next(iter(models), usual)
        if chosen.provider.name == "demo":
            return ""
        if self.ask.asking and len(models) > 1 and not self.options.model:
            typer.echo(f"Tab shows the {len(models)} models.")
        name = self.options.model
        while True:
            name = name or self.ask.text("Model", "--model", first, models)
            if not name and not self.ask.asking:
                raise OrchestratorError("nothing was written; no model is known, so give --model")
            if not name or name in models or not self.answers:
                return name
            if models:
                advice = suggestion(name, models, "it is tried all the same")
                typer.echo(printable(f"{name} is not listed{advice}"))
            trial = anyio.run(try_model, chosen, self.key, name)
            typer.echo(printable(trial.text))
            if trial.verdict == "works":
                return name
            if not self.ask.asking:
                raise OrchestratorError("nothing was written; give another --model")
            name = ""

    # --- the bot ---------------------------------------------------------------------------------

    def _telegram(self) -> bool:
        """Get a token that works and note it; return whether there is a bot."""
        token = self.options.token or self.before.environ.get(TOKEN, "")
        question = "Telegram bot token from @BotFather (hidden; Enter for no bot)"
        token = token or self.ask_token(question)
        if not token:
            return False
        again = partial(self.ask_token, "Another token (Enter for no bot)")
        url = self.before.telegram_api_url
        token, trial = self._tried(
            lambda text: anyio.run(try_bot, text, url), token, again, "--telegram-token-from"
        )
        self.bot = trial.bot
        self._store(TOKEN, token)
        return bool(token)

    def ask_token(self, question: str) -> str:
        """Return a token, or nothing: without a terminal a bot is not asked for."""
        return self.ask.secret(question, "--telegram-token-from") if self.ask.asking else ""

    def _allowed(self) -> tuple[str, ...]:
        """Return who may write to the bot; nothing to leave it as it is."""
        if self.options.allow or not self.ask.asking or self._access_is_set():
            return allowed(",".join(self.options.allow))
        typer.echo(
            "Who may write to the bot? Numbers of users or chats (@userinfobot tells yours), or"
            " Enter: each new chat gets a code, and you approve it."
        )
        while True:
            try:
                return allowed(self.ask.text("Who", "--allow", PAIRING))
            except OrchestratorError as error:
                typer.echo(printable(str(error)))

    def _access_is_set(self) -> bool:
        return self.before.text is not None and access_of(self.before.text) != PAIRING


def allowed(text: str) -> tuple[str, ...]:
    """Return `PAIRING` or the ids in a text.

    Raises:
        OrchestratorError: a part is no id.
    """
    parts = tuple(text.replace(",", " ").split())
    if parts == (PAIRING,):
        return parts
    for part in parts:
        if not (part.isascii() and part.removeprefix("-").isdecimal()):
            raise OrchestratorError(
                f"--allow: {part!r} is no number of a user or chat; names can be taken over by"
                f" someone else. Write numbers, or {PAIRING} alone"
            )
    return parts
