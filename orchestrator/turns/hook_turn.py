"""The turn of a webhook's message.

Each is a turn of its own, without history: what one event brings never reaches the next. It shows
nothing while it runs and may not send, as its answer goes to the chat that the webhook names.
"""

from orchestrator.agentsfile import AgentDefinition
from orchestrator.tools.policy import SENDING
from orchestrator.turns.recipe import Recipe
from orchestrator.turns.turn_inputs import TurnInputs
from thinker.protocol.environments import Environments
from thinker.protocol.methods import TurnRun


class HookRecipe(Recipe):
    """The turn of a webhook's message."""

    shown = False

    def definition(self) -> AgentDefinition:
        """Return the agent without the tools that send."""
        definition = super().definition()
        denied = (*definition.denied_tools, *SENDING)
        return definition.model_copy(update={"denied_tools": denied})

    def request(self, inputs: TurnInputs, environments: Environments) -> TurnRun:
        """Return what the worker is sent: the message alone, and no streaming."""
        run = super().request(inputs, environments)
        return run.model_copy(update={"recipe": "hook", "stream": False})
