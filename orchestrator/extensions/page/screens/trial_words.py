"""Trials in words: how near a run is to its record, where results come from, what was changed."""

from collections.abc import Iterator, Mapping

import htpy as h

from orchestrator.control.trials import (
    Fidelity,
    ResultSource,
    TrialChange,
    TrialKind,
    TrialReport,
    TrialState,
    Unrecorded,
)
from orchestrator.extensions.page.html import figures
from orchestrator.extensions.page.html.outside_text import (
    find_plain_text,
    shorten_text,
    show_hidden_characters,
)

FIDELITIES: Mapping[Fidelity, tuple[str, str]] = {
    "exact": ("exact", "every request had the recorded bytes"),
    "same": ("same", "all results are those of the record"),
    "invented": ("invented", "some results are not those of the record"),
    "stopped": ("stopped", "it did not run to its end"),
    "impossible": ("impossible", "it cannot be tried"),
}
_SIGNS: Mapping[Fidelity, str] = {
    "exact": "ok",
    "same": "ok",
    "invented": "waiting",
    "stopped": "paused",
    "impossible": "failed",
}
SOURCES: Mapping[ResultSource, str] = {
    "recorded": "= recorded result",
    "stale": "recorded result; by now it might be another one",
    "typed": "typed by a person",
    "invented": "invented by a model",
    "file": "from the file that is tried",
    "rejected": "refused by the agent itself",
    "denied": "not allowed by the rules",
    "none": "no result is recorded",
}
KINDS: Mapping[TrialKind, str] = {
    "replay": "Trial",
    "test": "Test",
    "switch": "Trial of a model",
}
UNRECORDED: Mapping[Unrecorded, str] = {
    "stop": "stop",
    "ask": "ask me for its result",
    "invent": "let a model invent its result",
}
_STATES: Mapping[TrialState, tuple[str, str]] = {
    "running": ("running", "runs"),
    "done": ("done", "done"),
    "stopped": ("paused", "stopped"),
}


def format_question(text: str, limit: int) -> str:
    """Return the beginning of a question on one line, without the signs of Markdown."""
    return shorten_text(find_plain_text(text), limit)


def render_fidelity(fidelity: Fidelity | None) -> h.Node:
    """Render how near a run is to its record; one that has not ended runs, or waits for it."""
    if fidelity is None:
        return figures.render_state("queued", "not tried yet")
    word, meaning = FIDELITIES[fidelity]
    return h.span(title=meaning)[figures.render_state(_SIGNS[fidelity], word)]


def render_trial_state(trial: TrialReport) -> h.Element:
    """Render whether a trial runs, and how many of its turns are left."""
    sign, word = _STATES[trial.state]
    left = f", {trial.waiting} to go" if trial.waiting else ""
    return figures.render_state(sign, f"{word}{left}")


def format_trial_cost(trial: TrialReport) -> str:
    """Return what a trial has cost, and its limits."""
    cost = figures.format_usd(trial.usd)
    tokens = f"{figures.format_tokens(trial.tokens)} tokens"
    limits = []
    if trial.limit_usd is not None:
        limits.append(figures.format_usd(trial.limit_usd))
    if trial.limit_tokens is not None:
        limits.append(f"{figures.format_tokens(trial.limit_tokens)} tokens")
    most = f" of at most {' and '.join(limits)}" if limits else ""
    return f"{cost}, {tokens}{most}"


def describe_trial_change(change: TrialChange) -> str:
    """Return what a trial changes, as words after each other."""
    return "; ".join(_iter_changes(change)) or "nothing changed"


def _iter_changes(change: TrialChange) -> Iterator[str]:
    if change.model is not None:
        yield f"model {show_hidden_characters(change.model)}"
    if change.effort is not None:
        yield f"effort {change.effort}"
    if change.temperature is not None:
        yield f"temperature {change.temperature:g}"
    yield from (f"{show_hidden_characters(name)} edited" for name in change.files)
    yield from (f"the prompt's part {_name_part(name)} edited" for name in change.layers)
    if change.add_tools:
        yield f"also {', '.join(map(show_hidden_characters, change.add_tools))}"
    if change.remove_tools:
        yield f"without {', '.join(map(show_hidden_characters, change.remove_tools))}"
    if change.layout is not None:
        yield f"prompt layout {change.layout}"
    if change.as_today:
        yield "the prompt as today"
    if change.from_step:
        yield f"from step {change.from_step + 1} on"


def _name_part(name: str) -> str:
    return show_hidden_characters(name.replace("_", " "))
