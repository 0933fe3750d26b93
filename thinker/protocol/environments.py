"""Variables of prompts and tools: where each may be set, and which value wins."""

from pydantic import Field

from thinker.protocol.messages import Frozen

Env = dict[str, str]


class Environments(Frozen):
    """Values of variables, grouped by where they are set, highest precedence first.

    ``thread`` is the chat's binding, ``account`` its channel, ``instance`` the whole daemon,
    ``tool`` an entry in ``tools``.
    """

    thread: Env = Field(default_factory=dict)
    account: Env = Field(default_factory=dict)
    instance: Env = Field(default_factory=dict)
    agent: Env = Field(default_factory=dict)
    tool: Env = Field(default_factory=dict)
    prompt: Env = Field(default_factory=dict)

    def merge_levels(self) -> Env:
        """Return each variable with the value of highest precedence."""
        return dict(item for _, env in reversed(list(self)) for item in env.items())

    def select_names(self, names: frozenset[str]) -> "Environments":
        return Environments.model_validate(
            {
                level: {name: value for name, value in env.items() if name in names}
                for level, env in self
            }
        )
