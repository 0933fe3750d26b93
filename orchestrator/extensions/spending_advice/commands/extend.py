"""``orchestrator agents extend``: more money for an agent until midnight."""

from typing import Annotated

import typer

from orchestrator.cli.client import ask_daemon
from orchestrator.cli.commands import make_command_group
from orchestrator.cli.options import Home, load_settings
from orchestrator.extensions.spending_advice.commands.budget import print_extension
from orchestrator.extensions.spending_advice.cost_answers import (
    BUDGET_EXTEND,
    ExtendedBudget,
    MoreMoney,
)

app = make_command_group("agents")


@app.command()
def extend(
    agent: Annotated[str, typer.Argument(metavar="AGENT", help="The agent's id.")],
    usd: Annotated[float, typer.Argument(metavar="USD", help="Such as 0.10.", min=0.000001)],
    *,
    home: Home = None,
) -> None:
    """Let an agent spend more US dollars until midnight, once; it works again at once."""
    params = MoreMoney(agent_id=agent, usd=usd)
    print_extension(ask_daemon(load_settings(home), BUDGET_EXTEND, params, ExtendedBudget))
