"""``orchestrator init``."""

import os
from pathlib import Path

import typer

from orchestrator.cli._options import Home, command_group, load_settings
from orchestrator.cli._other_user import require_owner
from orchestrator.errors import ConfigError
from orchestrator.settings import bundled

FILES = ("agents.json", "agents.schema.json", "keys.env")  # the schema is for editors

app = command_group()


@app.command()
def init(*, home: Home = None) -> None:
    """Prepare a home with an agents.json to edit.

    Existing files are kept.
    """
    settings = load_settings(home)
    require_owner(settings.home)
    settings.paths.prepare()
    for name in FILES:
        created = _copy(bundled("config") / name, settings.home / name)
        typer.echo(f"{'created' if created else 'kept   '}  {settings.home / name}")
    option = "" if home is None else f" --home {settings.home}"
    typer.echo(
        f"\nNext:\n"
        f"  edit {settings.home / 'agents.json'}, then: orchestrator check{option}\n"
        f"  set the key of a model provider in {settings.paths.keys}\n"
        f"  orchestrator run{option}"
    )


def _copy(source: Path, target: Path) -> bool:
    """Copy a file; return False, without writing, when the target exists."""
    try:
        fd = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(fd, "wb") as file:
            file.write(source.read_bytes())
    except FileExistsError:
        return False
    except OSError as error:
        raise ConfigError(
            f"{target} cannot be written ({error.strerror}); choose a directory that you own"
        ) from error
    return True
