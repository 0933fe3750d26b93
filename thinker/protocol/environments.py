"""Where variables of prompts and tools may be set, and who wins."""

from pydantic import Field

from thinker.protocol.messages import Frozen

Env = dict[str, str]


class Environments(Frozen):
    """Values of variables by where they were set, highest first (seed 000 §3.2).

    ``thread`` is the chat's binding, ``account`` its channel, ``instance`` the whole daemon,
    ``tool`` an entry in ``tools``.
    """

    thread: Env = Field(default_factory=dict)
    account: Env = Field(default_factory=dict)
    instance: Env = Field(default_factory=dict)
    agent: Env = Field(default_factory=dict)
    tool: Env = Field(default_factory=dict)
    prompt: Env = Field(default_factory=dict)

    def merged(self) -> Env:
        """Each variable with the value that wins."""
        return {
            **self.prompt,
            **self.tool,
            **self.agent,
            **self.instance,
            **self.account,
            **self.thread,
        }

    def only(self, names: frozenset[str]) -> "Environments":
        """The values of these variables alone."""
        return Environments.model_validate(
            {
                level: {name: value for name, value in env.items() if name in names}
                for level, env in self
            }
        )
