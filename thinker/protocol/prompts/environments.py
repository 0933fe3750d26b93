"""Where variables of prompts and tools may be set, and who wins."""

import re
from collections.abc import Iterator, Mapping

from pydantic import Field, JsonValue

from thinker.protocol.messages import Frozen
from thinker.protocol.prompts.problem import DefinitionError

Env = dict[str, str]
PLACE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


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


def named(value: JsonValue) -> Iterator[str]:
    """Every variable for whose value a JSON value has a place: ``${NAME}`` in a text of it."""
    if isinstance(value, str):
        yield from PLACE.findall(value)
    elif isinstance(value, list | dict):
        for item in value.values() if isinstance(value, dict) else value:
            yield from named(item)


def filled(value: JsonValue, values: Mapping[str, str]) -> JsonValue:
    """A JSON value with the values of variables in their places.

    Raises:
        DefinitionError: one of them is not set.
    """
    if isinstance(value, str):
        unset = next((name for name in named(value) if name not in values), None)
        if unset is not None:
            raise DefinitionError(f"the variable {unset} is not set; the operator has to set it")
        return PLACE.sub(lambda place: values[place[1]], value)
    if isinstance(value, list):
        return [filled(item, values) for item in value]
    if isinstance(value, dict):
        return {key: filled(item, values) for key, item in value.items()}
    return value
