"""The options of ``orchestrator selftest crash``: those of one daemon, and those of several."""

from typing import Annotated, Any

import typer
from typer.core import TyperCommand
from typer.main import get_command

from orchestrator.cli.commands import make_command_group
from orchestrator.cli.options import AsJson
from orchestrator.errors import ConfigError

FEWEST = 2  # nodes
Quick = Annotated[bool, typer.Option("--quick", help="Run a sample that takes one minute.")]
Keep = Annotated[bool, typer.Option("--keep", help="Keep the homes of failures.")]
History = Annotated[
    str | None,
    typer.Option(help="Only this history; with --nodes, this fault."),
]
_nodes = make_command_group()


@_nodes.command()
def crash_nodes(
    *,
    nodes: Annotated[
        int | None,
        typer.Option(min=FEWEST, help="Run this many daemons on one PostgreSQL journal."),
    ] = None,
    all_work: Annotated[
        bool, typer.Option("--all-work", help="With --nodes, only faults of nodes that all work.")
    ] = False,
    messages: Annotated[
        int | None, typer.Option(min=1, help="With --nodes, messages during each fault.")
    ] = None,
    sleep: Annotated[
        float | None,
        typer.Option(min=4, help="With --nodes, seconds that a frozen machine sleeps."),
    ] = None,
    history: History = None,
    quick: Quick = False,
    keep: Keep = False,
    as_json: AsJson = False,
) -> None:
    """Let machines, network and server fail, and check what people got."""
    from orchestrator.extensions.selftest.commands import node_trials  # noqa: PLC0415 - needs PostgreSQL

    faults = node_trials.choose_faults(history, all_work=all_work, quick=quick)
    size = node_trials.choose_size(nodes or FEWEST, messages, sleep, quick=quick)
    node_trials.try_nodes(faults, size, keep=keep, as_json=as_json)


class CrashCommand(TyperCommand):
    """The command, in whose place `crash_nodes` runs if ``--nodes`` is given."""

    def __init__(self, name: str | None, **settings: Any) -> None:  # noqa: ANN401 - typer's own click
        super().__init__(name, **settings)
        self._other = get_command(_nodes)
        self._own = {param.name for param in self.params}
        json = self.params.pop()
        self.params += [one for one in self._other.params if one.name not in self._own]
        self.params.append(json)

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401 - typer's own click
        """Run what the options ask for.

        Raises:
            ConfigError: an option has no effect.
        """
        several = ctx.params["nodes"] is not None
        taken = {param.name for param in self._other.params} if several else self._own
        for param in self.params:
            if param.name in taken:
                continue
            value = ctx.params.pop(param.name)
            if value != param.get_default(ctx):
                how = "with" if several else "without"
                raise ConfigError(f"{param.opts[0]} has no effect {how} --nodes; leave it out")
        return self._other.invoke(ctx) if several else super().invoke(ctx)
