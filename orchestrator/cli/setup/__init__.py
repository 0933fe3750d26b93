"""``orchestrator setup``."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import anyio
import typer

from orchestrator import keys_file
from orchestrator.agentsfile import AgentsFileError, Problem, parse
from orchestrator.agentsfile.positions import JsonSyntaxError, read
from orchestrator.cli._conversation import ANSWERED
from orchestrator.cli._direct_journal import moved_chats
from orchestrator.cli._options import Home, command_group, environment, load_settings
from orchestrator.cli._other_user import require_owner
from orchestrator.cli._output import printable
from orchestrator.cli.init import copied
from orchestrator.cli.setup.first_answer import (
    ANSWERS_WITHIN,
    QUESTION,
    first_answer,
    reloaded,
    running,
)
from orchestrator.cli.setup.interview import TOKEN, GivenAnswers, Interview, Situation, allowed
from orchestrator.cli.setup.proposal import PAIRING, Wishes, access_of, difference, proposed
from orchestrator.cli.setup.questions import Questions
from orchestrator.errors import ConfigError, ExitCode, OrchestratorError
from orchestrator.files import write_private
from orchestrator.home_paths import bundled
from orchestrator.settings import Settings
from thinker.formats import regular_file
from thinker.formats.regular_file import FileError, FileMissingError

STDIN = "-"
app = command_group()


@app.command()
def setup(
    *,
    provider: Annotated[
        str,
        typer.Option(
            help="anthropic, openai, groq, ollama, demo and others, or the address of an"
            " OpenAI-compatible API."
        ),
    ] = "",
    key_from: Annotated[
        str, typer.Option(help='Variable that holds its key; "-" reads stdin.')
    ] = "",
    model: Annotated[str, typer.Option(help="The provider's name of the model.")] = "",
    agent: Annotated[str, typer.Option(help="Agent to set up (default: the first one).")] = "",
    telegram_token_from: Annotated[
        str, typer.Option(help='Variable that holds the token of the bot; "-" reads stdin.')
    ] = "",
    allow: Annotated[
        list[str] | None,
        typer.Option(help='Number of a user or chat that may write to the bot; or "pairing".'),
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", help="Ask nothing; take what each question offers.")
    ] = False,
    home: Home = None,
) -> None:
    """Set up keys, a model and a bot, and get a first answer.

    It asks for what is missing and tries it at once. Keys go to keys.env in the home, the rest to
    agents.json, where all that you wrote stays. Without a terminal give options; a key is never an
    argument, which other users could read. The exit code is 1 without an answer.
    """
    settings = load_settings(home)
    require_owner(settings.home)
    options = GivenAnswers(
        provider=provider,
        key=_secret(key_from, "--key-from"),
        model=model,
        agent=agent,
        token=_secret(telegram_token_from, "--telegram-token-from"),
        allow=allowed(",".join(allow or ())),
    )
    path = _agents_file(settings)
    stored = keys_file.read(settings.home, {}).values
    before = Situation(_text(path), environment(settings), stored, settings.telegram_api_url)
    ask = Questions.here(defaults=yes)
    _show_before(settings, path, before)
    interview = Interview(options, before, ask)
    wishes = _answers(interview)
    text = proposed(before.text, wishes)
    environ = {**before.environ, **interview.values}
    _require_sound(settings, path.name, text, environ)
    if not _agreed(ask, path, before.text, text):
        typer.echo("nothing was written")
        raise typer.Exit(ExitCode.FAILED)
    _write(settings, path, text if text != before.text else None, interview.values)
    answered = interview.answers and _answer(settings, path, wishes)
    _show_next(settings, home, wishes, text, interview)
    raise typer.Exit(ExitCode.OK if answered else ExitCode.FAILED)


def _agents_file(settings: Settings) -> Path:
    """Return the file to write, whether it exists or not."""
    return settings.config or settings.home / "agents.json"


def _answers(interview: Interview) -> Wishes:
    try:
        return interview.wishes()
    except (EOFError, KeyboardInterrupt):  # Ctrl-D, Ctrl-C
        typer.echo("nothing was written")
        raise typer.Exit(ExitCode.INTERRUPTED) from None


def _secret(source: str, option: str) -> str:
    """Read a secret from a variable of this shell or from stdin."""
    if not source:
        return ""
    value = sys.stdin.readline() if source == STDIN else os.environ.get(source, "")
    if not value.strip():
        where = "stdin" if source == STDIN else f"the variable {source} of this shell"
        raise OrchestratorError(f"{option}: {where} is empty; put the secret there")
    return value.strip()


def _text(path: Path) -> str | None:
    """Return the text of agents.json; None if there is none yet."""
    try:
        text = regular_file.read_text(path, regular_file.AGENTS_FILE)
        read(text)
    except FileMissingError:
        return None
    except JsonSyntaxError as error:
        raise ConfigError(f"{path}:{error.line}: {error}") from None
    except FileError as error:
        raise ConfigError(f"{path} cannot be read: {error}") from error
    return text


def _show_before(settings: Settings, path: Path, before: Situation) -> None:
    if before.text is None:
        typer.echo(f"{path} is not there yet; it will be made.")
        return
    names = [str(agent.get("agentId")) for agent in before.agents]
    listed = f"agent{'s' * (len(names) > 1)} {', '.join(names)}" if names else "no agents yet"
    typer.echo(printable(f"{path} has {listed}."))
    keys = ", ".join(sorted(before.stored))
    typer.echo(f"{settings.paths.keys} has {keys or 'no keys yet'}.")


def _require_sound(settings: Settings, name: str, text: str, environ: Mapping[str, str]) -> None:
    """Show the problems of what would be written, as ``check`` does; stop at an error."""
    problems: tuple[Problem, ...]
    try:
        moved = moved_chats(settings)
        problems = parse(text.encode(), name, environ, moved, settings.home).problems
    except AgentsFileError as error:
        problems = error.problems
    for problem in problems:
        typer.echo(printable(str(problem)))
    if any(problem.severity == "error" for problem in problems):
        raise ConfigError("nothing was written; correct this first")


def _agreed(ask: Questions, path: Path, old: str | None, new: str) -> bool:
    if old is None or old == new:
        return True
    typer.echo(f"\n{path} would change:\n{printable(difference(old, new))}")
    return ask.allowed("Write that?")


def _write(settings: Settings, path: Path, text: str | None, values: Mapping[str, str]) -> None:
    """Write the files; ``text`` is None if agents.json stays as it is."""
    settings.paths.prepare()
    keys = settings.paths.keys
    copied(bundled("config") / "keys.env", keys)
    copied(bundled("config") / "agents.schema.json", path.with_name("agents.schema.json"))
    if values:
        there = regular_file.read_text(keys, regular_file.KEYS)
        write_private(keys, keys_file.with_values(there, values).encode())
        typer.echo(f"wrote {', '.join(sorted(values))} to {keys}")
    if text is not None:
        real = Path(os.path.realpath(path))
        mode = real.stat().st_mode & 0o777 if real.exists() else 0o600
        write_private(real, text.encode())
        real.chmod(mode)
        typer.echo(f"wrote {path}")


def _answer(settings: Settings, path: Path, wishes: Wishes) -> bool:
    """Show the agent's first answer; return whether there was one."""
    status = anyio.run(running, settings)
    if status is None:
        typer.echo("\nStarting a daemon for a first answer …")
    elif Path(status.config_file) != path:
        typer.echo(f"\nThe running daemon does not use {path}, so it cannot answer now.")
        return False
    else:
        anyio.run(reloaded, settings)
    typer.echo(f"\nyou: {QUESTION}\n(an answer may take up to {ANSWERS_WITHIN:g} s)")
    try:
        outcome = anyio.run(first_answer, settings, wishes.agent_id)
    except OrchestratorError as error:
        typer.echo(printable(str(error)), err=True)
        return False
    for part in outcome.texts:
        typer.echo(printable(f"{wishes.agent_id}: {part}"))
    if outcome.state != ANSWERED:
        typer.echo(printable(outcome.error or outcome.state), err=True)
    return outcome.state == ANSWERED


def _show_next(
    settings: Settings, home: Path | None, wishes: Wishes, text: str, interview: Interview
) -> None:
    option = "" if home is None else f" --home {settings.home}"
    status = anyio.run(running, settings)
    lines: dict[str, str] = {}
    if status is None:
        lines[f"orchestrator run{option}"] = "start the daemon; Ctrl-C ends it"
    elif Path(status.config_file) != _agents_file(settings):
        lines["restart the daemon"] = f"it uses {status.config_file}"
    elif TOKEN in interview.values:
        lines["restart the daemon"] = "it takes a bot's token only at its start"
    lines[f"orchestrator chat {wishes.agent_id}{option}"] = "talk to it, in a second terminal"
    if interview.bot:
        lines[f"https://t.me/{interview.bot}"] = "write to the bot"
    if interview.bot and access_of(text) == PAIRING:
        lines[f"orchestrator pair approve CODE{option}"] = "let a chat in, by the bot's answer"
    lines[f"orchestrator status{option}"] = "see what runs and what is wrong"
    column = max(map(len, lines)) + 2
    typer.echo("\nNext:")
    for command, meaning in lines.items():
        typer.echo(f"  {command:{column}}{meaning}")
