"""``orchestrator setup``."""

import os
import sys
from collections.abc import Mapping
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import anyio
import typer
from typer.core import TyperCommand

from orchestrator import keys_file
from orchestrator.agentsfile.positions import JsonSyntaxError, parse_json_document
from orchestrator.cli.commands import make_command_group
from orchestrator.cli.conversation import ANSWERED
from orchestrator.cli.options import Home, load_environment, load_settings
from orchestrator.cli.other_user import require_owner
from orchestrator.cli.output import make_printable
from orchestrator.errors import ConfigError, ExitCode, OrchestratorError
from orchestrator.extensions.setup import key_lines, small_models
from orchestrator.extensions.setup.agents_text import (
    SCHEMA,
    copy_bundled,
    find_agents_file,
    write_agents_text,
)
from orchestrator.extensions.setup.checked_text import require_valid_text
from orchestrator.extensions.setup.first_answer import (
    ANSWERS_WITHIN,
    QUESTION,
    fetch_daemon_status,
    get_first_answer,
    reload_daemon,
)
from orchestrator.extensions.setup.interview import (
    ExistingSetup,
    GivenAnswers,
    Interview,
    parse_allowed_ids,
)
from orchestrator.extensions.setup.model_account import LOCAL
from orchestrator.extensions.setup.proposal import (
    PAIRING,
    SetupChoices,
    find_access,
    format_difference,
    propose_text,
)
from orchestrator.extensions.setup.questions import Questions
from orchestrator.files import write_private
from orchestrator.settings import Settings
from thinker.formats import regular_file
from thinker.formats.regular_file import FileError, FileMissingError

STDIN = "-"
app = make_command_group()


class SetupCommand(TyperCommand):
    """The command, with ``--local`` for ``--provider local``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401 - typer's own click
        """Parse the arguments as if they were written out."""
        whole = (("--provider", LOCAL) if arg == "--local" else (arg,) for arg in args)
        return super().parse_args(ctx, [*chain.from_iterable(whole)])


@app.command(cls=SetupCommand)
def setup(
    *,
    provider: Annotated[
        str,
        typer.Option(
            help="anthropic, openai, ollama, demo and others, the address of an"
            " OpenAI-compatible API, or local, a small model."
        ),
    ] = "",
    key_from: Annotated[
        str, typer.Option(help='Variable that holds its key; "-" reads stdin.')
    ] = "",
    model: Annotated[str, typer.Option(help="The provider's name for the model.")] = "",
    agent: Annotated[str, typer.Option(help="Agent to set up (default: the first one).")] = "",
    telegram_token_from: Annotated[
        str,
        typer.Option(
            help='Variable with the token; TELEGRAM_BOT_TOKEN_NAME adds a bot; "-" reads stdin.'
        ),
    ] = "",
    allow: Annotated[
        list[str] | None,
        typer.Option(help='Number of a user or chat that may write to the bot, or "pairing".'),
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", help="Ask nothing; take the default of each question.")
    ] = False,
    home: Home = None,
) -> None:
    """Set up keys, a model and a bot, and get a first answer.

    Asks for what is missing and tries it. Keys go to keys.env, the rest to agents.json,
    which keeps what you wrote. Without a terminal, give options; others could
    read a key in an argument. The exit code is 1 if no answer came.
    """
    settings = load_settings(home)
    require_owner(settings.home)
    options = GivenAnswers(
        provider=provider,
        key=_read_secret(key_from, "--key-from"),
        model=model,
        agent=agent,
        token=_read_secret(telegram_token_from, "--telegram-token-from"),
        allow=parse_allowed_ids(",".join(allow or ())),
        account=key_lines.find_account_of(telegram_token_from),
    )
    path = find_agents_file(settings)
    stored = keys_file.read_keys(settings.home, {}).values
    before = ExistingSetup(
        _read_agents_file(path),
        load_environment(settings),
        stored,
        settings.telegram_api_url,
        settings.home,
    )
    ask = Questions.from_terminal(defaults=yes)
    _show_situation(settings, path, before)
    interview = Interview(options, before, ask)
    wishes = _ask_wishes(interview)
    text = propose_text(before.text, wishes)
    environ = {**before.environ, **interview.values}
    require_valid_text(settings, path.name, text, environ)
    if not _confirm_change(ask, path, before.text, text):
        typer.echo("nothing was written")
        raise typer.Exit(ExitCode.FAILED)
    _write_files(settings, path, text if text != before.text else None, interview.values)
    if wishes.window is not None:
        small_models.show_prompt_size(settings.home, wishes.agent_id, wishes.window)
    answered = interview.answers and _show_first_answer(settings, path, wishes)
    _show_next_steps(settings, home, wishes, text, interview)
    raise typer.Exit(ExitCode.OK if answered else ExitCode.FAILED)


def _ask_wishes(interview: Interview) -> SetupChoices:
    try:
        return interview.ask_wishes()
    except (EOFError, KeyboardInterrupt):  # Ctrl-D, Ctrl-C
        typer.echo("nothing was written")
        raise typer.Exit(ExitCode.INTERRUPTED) from None


def _read_secret(source: str, option: str) -> str:
    """Read a secret from a variable of this shell or from stdin."""
    if not source:
        return ""
    named = source == STDIN or (source.isascii() and source.isidentifier())
    if not named:  # perhaps the secret itself, so it is not shown
        raise OrchestratorError(
            f'{option} takes the name of a variable, or "-" for stdin, not the secret itself'
        )
    value = sys.stdin.readline() if source == STDIN else os.environ.get(source, "")
    if not value.strip():
        where = "stdin" if source == STDIN else f"the variable {source} of this shell"
        raise OrchestratorError(f"{option}: {where} is empty; put the secret there")
    return value.strip()


def _read_agents_file(path: Path) -> str | None:
    """Read agents.json; return None if it does not exist yet."""
    try:
        text = regular_file.read_text(path, regular_file.AGENTS_FILE)
        parse_json_document(text)
    except FileMissingError:
        return None
    except JsonSyntaxError as error:
        raise ConfigError(f"{path}:{error.line}: {error}") from None
    except FileError as error:
        raise ConfigError(f"{path} cannot be read: {error}") from error
    return text


def _show_situation(settings: Settings, path: Path, before: ExistingSetup) -> None:
    if before.text is None:
        typer.echo(f"{path} does not exist yet; it will be created.")
        return
    names = [str(agent.get("agentId")) for agent in before.agents]
    listed = f"agent{'s' * (len(names) > 1)} {', '.join(names)}" if names else "no agents yet"
    typer.echo(make_printable(f"{path} has {listed}."))
    keys = ", ".join(sorted(before.stored))
    typer.echo(f"{settings.paths.keys} has {keys or 'no keys yet'}.")


def _confirm_change(ask: Questions, path: Path, old: str | None, new: str) -> bool:
    if old is None or old == new:
        return True
    typer.echo(f"\n{path} would change:\n{make_printable(format_difference(old, new))}")
    return ask.ask_permission("Write that?")


def _write_files(
    settings: Settings, path: Path, text: str | None, values: Mapping[str, str]
) -> None:
    """Write the files; ``text`` is None if agents.json does not change."""
    settings.paths.create_directories()
    keys = settings.paths.keys
    copy_bundled(keys.name, keys.parent)
    copy_bundled(SCHEMA, path.parent)
    if values:
        there = regular_file.read_text(keys, regular_file.KEYS)
        write_private(keys, key_lines.replace_values(there, values).encode())
        typer.echo(f"wrote {', '.join(sorted(values))} to {keys}")
    if text is not None:
        write_agents_text(path, text)
        typer.echo(f"wrote {path}")


def _show_first_answer(settings: Settings, path: Path, wishes: SetupChoices) -> bool:
    """Print the agent's first answer; return whether there was one."""
    status = anyio.run(fetch_daemon_status, settings)
    if status is None:
        typer.echo("\nStarting a daemon for a first answer …")
    elif not _reload_daemon(settings, path):
        return False
    typer.echo(f"\nyou: {QUESTION}\n(an answer may take up to {ANSWERS_WITHIN:g} s)")
    try:
        outcome = anyio.run(get_first_answer, settings, wishes.agent_id, _show_problem)
    except OrchestratorError as error:
        typer.echo(make_printable(str(error)), err=True)
        return False
    for part in outcome.texts:
        typer.echo(make_printable(f"{wishes.agent_id}: {part}"))
    if outcome.state != ANSWERED:
        typer.echo(make_printable(outcome.error or outcome.state), err=True)
    return outcome.state == ANSWERED


def _reload_daemon(settings: Settings, path: Path) -> bool:
    """Let the running daemon adopt the file; return whether it did."""
    report = anyio.run(reload_daemon, settings)
    status = anyio.run(fetch_daemon_status, settings)
    if status is None or Path(status.config_file) != path:
        used = "ended" if status is None else f"uses {status.config_file}, not {path}"
        typer.echo(
            f"\nThe running daemon {used}, so there is no first answer now. Stop it with:"
            " orchestrator stop, then start it again without --config and ORCHESTRATOR_CONFIG."
        )
        return False
    if not report.applied:
        typer.echo(make_printable("\n".join(map(str, report.problems))), err=True)
        typer.echo("\nThe running daemon refused the files; correct them, they are live then.")
        return False
    typer.echo("\nThe running daemon has taken over the files.")
    return True


def _show_problem(text: str) -> None:
    typer.echo(make_printable(text))


def _show_next_steps(
    settings: Settings, home: Path | None, wishes: SetupChoices, text: str, interview: Interview
) -> None:
    option = "" if home is None else f" --home {settings.home}"
    status = anyio.run(fetch_daemon_status, settings)
    lines: dict[str, str] = {}
    if status is None:
        lines[f"orchestrator run{option}"] = "start the daemon; Ctrl-C ends it"
    elif Path(status.config_file) != find_agents_file(settings):
        lines["restart the daemon"] = f"it uses {status.config_file}"
    lines[f"orchestrator chat {wishes.agent_id}{option}"] = "talk to it, in another terminal"
    if interview.bot:
        lines[f"https://t.me/{interview.bot}"] = "write to the bot"
    if interview.bot and find_access(text, wishes.bot_account) == PAIRING:
        lines[f"orchestrator pair approve CODE{option}"] = "let a chat in, by the bot's answer"
    lines[f"orchestrator status{option}"] = "see what runs and what is wrong"
    column = max(map(len, lines)) + 2
    typer.echo("\nNext:")
    for command, meaning in lines.items():
        typer.echo(f"  {command:{column}}{meaning}")
