"""``orchestrator init``."""

import typer

from orchestrator.cli.commands import make_command_group
from orchestrator.cli.options import Home, load_environment, load_settings
from orchestrator.cli.other_user import require_owner
from orchestrator.extensions.setup.agents_text import copy_bundled
from orchestrator.settings import Settings
from thinker.protocol.providers import list_key_variables

FILES = ("agents.json", "agents.schema.json", "keys.env")  # the schema is for editors

app = make_command_group()


@app.command()
def init(*, home: Home = None) -> None:
    """Prepare a home with an agents.json to edit.

    Existing files are kept.
    """
    settings = load_settings(home)
    require_owner(settings.home)
    settings.paths.create_directories()
    for name in FILES:
        created = copy_bundled(name, settings.home)
        typer.echo(f"{'created' if created else 'kept   '}  {settings.home / name}")
    option = "" if home is None else f" --home {settings.home}"
    typer.echo(
        f"\nNext:\n"
        f"  {_describe_keys(settings, option)}\n"
        f"  edit {settings.home / 'agents.json'}, then: orchestrator check{option}\n"
        f"  orchestrator run{option}"
    )


def _describe_keys(settings: Settings, option: str) -> str:
    """Describe the keys that are set, and what to do without one."""
    environ = load_environment(settings)
    keys = sorted(name for name in list_key_variables() if environ.get(name))
    if keys:
        return f"set: {', '.join(keys)}; try it and add a bot with: orchestrator setup{option}"
    return (
        "no key of a model provider is set, so a local model or the built-in demo answers;\n"
        f"  set one with: orchestrator setup{option}, or in {settings.paths.keys}"
    )
