"""``orchestrator models``."""

from collections.abc import Iterable
from typing import Annotated

import anyio
import typer

from orchestrator.agentsfile import load
from orchestrator.cli._options import (
    AsJson,
    Config,
    Home,
    command_group,
    environment,
    load_settings,
)
from orchestrator.cli._prose import say
from orchestrator.cli._tables import print_json, table
from orchestrator.cli.models.offers import ModelsReport, ProviderFacts, facts, offers, only
from orchestrator.cli.models.trial_runs import TrialsReport, TriedModel, tried_models
from orchestrator.errors import ExitCode
from thinker.protocol import logs
from thinker.protocol.background import TRIALS

UNITS = "Prices are US dollars per million tokens; what stands empty is not known."
WORDS = {"works": "yes", "failed": "no", "adapted": "in words", "skipped": ""}

app = command_group("models")
app.info.no_args_is_help = False


@app.callback(invoke_without_command=True)
def models(
    context: typer.Context,
    *,
    find: Annotated[str, typer.Option(help="Show only models with this in their name.")] = "",
    provider: Annotated[
        str | None, typer.Option(help="Ask this provider instead of those that agents use.")
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="Show every provider that agents can name.")
    ] = False,
    as_json: AsJson = False,
    config: Config = None,
    home: Home = None,
) -> None:
    """List the providers and the models that they offer, with their prices, or test models.

    Each provider of an agent is asked now, with the key in place. Context windows and prices are
    those that the program knows, or that agents.json sets.
    """
    if context.invoked_subcommand is not None:
        return
    settings = load_settings(home, config)
    environ = environment(settings)
    file = load(settings.agents_file(), environ).file
    found = anyio.run(offers, file, environ, provider)
    known = facts(file, environ)
    report = ModelsReport(
        known=tuple(one for one in known if every or _near(one, file.providers)),
        providers=tuple(only(offer, find.lower()) for offer in found),
    )
    if as_json:
        print_json(report)
    else:
        _print(report)
    if not all(offer.works for offer in found):
        raise typer.Exit(ExitCode.FAILED)


@app.command("test")
def try_models(
    what: Annotated[
        str,
        typer.Argument(
            metavar="[WHAT]", help="An agent, PROVIDER/MODEL or PROVIDER; all agents if absent."
        ),
    ] = "",
    *,
    as_json: AsJson = False,
    config: Config = None,
    home: Home = None,
) -> None:
    """Make one small call for each thing that a model should do, as an agent makes it.

    Each model is asked for an answer, a tool call, what a picture shows, and JSON by a schema;
    embeddings models for a vector. Models that hear, speak or draw are not tried. The calls cost a
    few hundred tokens a model. The exit code is 1 if one of them fails.
    """
    settings = load_settings(home, config)
    environ = environment(settings)
    file = load(settings.agents_file(), environ).file
    logs.configure("error")  # only errors belong beside the table
    report = TrialsReport(models=anyio.run(tried_models, settings, file, environ, what))
    if as_json:
        print_json(report)
    else:
        _print_trials(report)
    if any(trial.state == "failed" for model in report.models for trial in model.trials):
        raise typer.Exit(ExitCode.FAILED)


def _near(provider: ProviderFacts, own: Iterable[str]) -> bool:
    """Whether it is in use, or could be at once."""
    return bool(provider.agents or provider.key_set or provider.name in own)


def _print(report: ModelsReport) -> None:
    table(
        "Providers",
        ("provider", "key", "can", "used by"),
        ((one.name, _key(one), ", ".join(one.can), ", ".join(one.agents)) for one in report.known),
    )
    shown = [
        table(
            f"{offer.provider} ({offer.address})" if offer.address else offer.provider,
            ("model", "context", "input", "output", "cached", "used by"),
            (
                (
                    model.id,
                    model.context_window and f"{model.context_window:,}",
                    *map(_dollars, (model.input, model.output, model.cached)),
                    ", ".join(model.agents),
                )
                for model in offer.models
            ),
        )
        for offer in report.providers
    ]
    priced = (model.input is not None for offer in report.providers for model in offer.models)
    if any(priced):
        say(UNITS)
    for offer, had_rows in zip(report.providers, shown, strict=True):
        none = ", none of them with that name" if offer.works and not had_rows else ""
        say(f"{offer.provider}: {offer.text}{none}")
        for model in offer.not_listed:
            users = ", ".join(model.agents)
            line = f"{users}: {offer.provider} does not list {model.id!r}; {model.advice}"
            say(line)


def _key(provider: ProviderFacts) -> str:
    if provider.key_variable is None:
        return "needs none"
    return f"{provider.key_variable} {'is set' if provider.key_set else 'is not set'}"


def _dollars(price: float | None) -> str:
    return "" if price is None else f"{price:.6g}"


def _print_trials(report: TrialsReport) -> None:
    table(
        "Models",
        ("model", *TRIALS, "tokens", "agents"),
        (
            (
                model.id,
                *(_word(model, name) for name in TRIALS),
                str(model.tokens) if model.tokens else "",
                ", ".join(model.agents),
            )
            for model in report.models
        ),
    )
    for model in report.models:
        for trial in model.trials:
            if trial.text:
                say(f"{model.id}, {trial.name}: {trial.text}")


def _word(model: TriedModel, name: str) -> str:
    return next((WORDS[trial.state] for trial in model.trials if trial.name == name), "")
