"""The turn of a webhook's message.

Each message has a separate turn without history, so one event never reaches the next. It shows
nothing while it runs and may not send: its answer goes to the chat that the webhook names.
"""

from typing import ClassVar

from orchestrator.agentsfile import AgentDefinition
from orchestrator.tools.policy import SENDING
from orchestrator.turns.recipe import Recipe
from orchestrator.turns.turn_inputs import TurnInputs
from thinker.protocol.methods import TurnRun


class HookRecipe(Recipe):
    """The turn of a webhook's message."""

    shown: ClassVar[bool] = False
    as_configured: ClassVar[bool] = False

    def build_definition(self) -> AgentDefinition:
        """Return the agent without the tools that send."""
        definition = super().build_definition()
        denied = (*definition.denied_tools, *SENDING)
        return definition.model_copy(update={"denied_tools": denied})

    def build_request(self, inputs: TurnInputs) -> TurnRun:
        """Build the worker's request: the message alone, without streaming."""
        run = super().build_request(inputs)
        return run.model_copy(update={"recipe": "hook", "stream": False})
