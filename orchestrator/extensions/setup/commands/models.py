"""``orchestrator models``."""

from collections.abc import Iterable, Iterator
from typing import Annotated

import anyio
import typer

from orchestrator.agentsfile import load_agents_file
from orchestrator.cli.commands import make_command_group
from orchestrator.cli.options import AsJson, Config, Home, load_environment, load_settings
from orchestrator.cli.output import print_text
from orchestrator.cli.tables import print_json, print_table
from orchestrator.errors import ExitCode
from orchestrator.extensions.setup.offers import (
    ModelsReport,
    ProviderFacts,
    fetch_offers,
    filter_offer,
    list_provider_facts,
)
from orchestrator.extensions.setup.trial_requests import TRIALS
from orchestrator.extensions.setup.tried_models import (
    ModelResult,
    TrialsReport,
    run_model_trials,
)
from thinker.protocol import logs

UNITS = "Prices are US dollars per million tokens; empty cells are unknown."
WORDS = {"works": "yes", "failed": "no", "adapted": "in words", "skipped": ""}

app = make_command_group("models")
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

    Asks each provider that agents use. Context windows and prices are the program's own, or those
    in agents.json.
    """
    if context.invoked_subcommand is not None:
        return
    settings = load_settings(home, config)
    environ = load_environment(settings)
    file = load_agents_file(settings.find_agents_file(), environ).file
    found = anyio.run(fetch_offers, file, environ, provider)
    known = list_provider_facts(file, environ)
    report = ModelsReport(
        known=tuple(one for one in known if every or _is_usable(one, file.providers)),
        providers=tuple(filter_offer(offer, find.lower()) for offer in found),
    )
    if as_json:
        print_json(report)
    else:
        _print_models(report)
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
    """Test what models can do, with one small call for each ability.

    Each is asked for an answer, a tool call, what a picture shows, and JSON by a schema;
    embeddings models for a vector; not those that hear, speak or draw. It tells window and speed.
    The exit code is 1 if one fails.
    """
    settings = load_settings(home, config)
    environ = load_environment(settings)
    file = load_agents_file(settings.find_agents_file(), environ).file
    logs.configure_logging("error")  # only errors belong beside the table
    report = TrialsReport(models=anyio.run(run_model_trials, settings, file, environ, what))
    if as_json:
        print_json(report)
    else:
        _print_trials(report)
    if any(trial.state == "failed" for model in report.models for trial in model.trials):
        raise typer.Exit(ExitCode.FAILED)


def _is_usable(provider: ProviderFacts, own: Iterable[str]) -> bool:
    """Return whether a provider is in use or ready to be."""
    return bool(provider.agents or provider.key_set or provider.name in own)


def _print_models(report: ModelsReport) -> None:
    print_table(
        "Providers",
        ("provider", "key", "can", "used by"),
        (
            (one.name, _describe_key(one), ", ".join(one.can), ", ".join(one.agents))
            for one in report.known
        ),
    )
    shown = [
        print_table(
            f"{offer.provider} ({offer.address})" if offer.address else offer.provider,
            ("model", "context", "input", "output", "cached", "used by"),
            (
                (
                    model.id,
                    model.context_window and f"{model.context_window:,}",
                    *map(_format_dollars, (model.input, model.output, model.cached)),
                    ", ".join(model.agents),
                )
                for model in offer.models
            ),
        )
        for offer in report.providers
    ]
    priced = (model.input is not None for offer in report.providers for model in offer.models)
    if any(priced):
        print_text(UNITS)
    for offer, had_rows in zip(report.providers, shown, strict=True):
        none = ", none of them with that name" if offer.works and not had_rows else ""
        print_text(f"{offer.provider}: {offer.text}{none}")
        for model in offer.not_listed:
            users = ", ".join(model.agents)
            line = f"{users}: {offer.provider} does not list {model.id!r}; {model.advice}"
            print_text(line)


def _describe_key(provider: ProviderFacts) -> str:
    if provider.key_variable is None:
        return "needs none"
    return f"{provider.key_variable} {'is set' if provider.key_set else 'is not set'}"


def _format_dollars(price: float | None) -> str:
    return "" if price is None else f"{price:.6g}"


def _print_trials(report: TrialsReport) -> None:
    print_table(
        "Models",
        ("model", *TRIALS, "tokens", "agents"),
        (
            (
                model.id,
                *(_format_trial_state(model, name) for name in TRIALS),
                str(model.tokens) if model.tokens else "",
                ", ".join(model.agents),
            )
            for model in report.models
        ),
    )
    for model in report.models:
        if facts := ", ".join(_list_facts(model)):
            print_text(f"{model.id}: {facts}")
    for model in report.models:
        for trial in model.trials:
            if trial.text:
                print_text(f"{model.id}, {trial.name}: {trial.text}")


def _list_facts(model: ModelResult) -> Iterator[str]:
    """Yield what a tested model is like, beside its abilities."""
    if model.window is not None:
        yield f"reads {model.window:,} tokens at once"
    if model.tokens_in_a_second is not None:
        yield f"{model.tokens_in_a_second:,.1f} tokens/s in"
    if model.tokens_out_a_second is not None:
        yield f"{model.tokens_out_a_second:,.1f} tokens/s out"
    if model.tools is not None:
        yield f"tools {'native' if model.tools == 'native' else 'as text'}"
    if model.pictures is not None:
        yield "sees pictures" if model.pictures else "no pictures"


def _format_trial_state(model: ModelResult, name: str) -> str:
    return next((WORDS[trial.state] for trial in model.trials if trial.name == name), "")
