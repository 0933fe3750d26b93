"""``orchestrator undo``: undo the newest change of any text."""

from orchestrator.cli.commands import make_command_group
from orchestrator.cli.options import Home, load_settings
from orchestrator.control.editing import UndoRequest
from orchestrator.extensions.versions.commands.config import undo_change

app = make_command_group()


@app.command()
def undo(*, home: Home = None) -> None:
    """Undo the newest change of agents.json, a prompt or a skill, whoever made it.

    Each further undo goes back one more change; orchestrator config history shows them.
    """
    undo_change(load_settings(home), UndoRequest())
