"""``orchestrator trial``."""

from orchestrator.cli.commands import make_command_group

app = make_command_group()
