"""Step 3, bind: variables get their values.

Six sources may set one; the first that does wins: thread (the chat's binding), account (the
channel), instance (the whole daemon), agent, tool entry, prompt. A secret is for tools alone.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from thinker.prompt.sections import Section, Text, Variable
from thinker.protocol.prompts.definition import Variable as Declared
from thinker.protocol.prompts.problem import DefinitionError

Env = Mapping[str, str]


@dataclass(frozen=True)
class Environments:
    """Values of variables by where they were set, highest first."""

    thread: Env = field(default_factory=dict)
    account: Env = field(default_factory=dict)
    instance: Env = field(default_factory=dict)
    agent: Env = field(default_factory=dict)
    tool: Env = field(default_factory=dict)
    prompt: Env = field(default_factory=dict)

    def merged(self) -> dict[str, str]:
        """Each variable with the value that wins."""
        return {
            **self.prompt,
            **self.tool,
            **self.agent,
            **self.instance,
            **self.account,
            **self.thread,
        }


def for_text(values: Env, declared: Iterable[Declared]) -> dict[str, str]:
    """The values that may stand in a prompt's text: those declared as text, and no other.

    Raises:
        DefinitionError: one that is required has no value.
    """
    shown: dict[str, str] = {}
    for variable in declared:
        if variable.required and not values.get(variable.name):
            raise DefinitionError(
                f"the variable {variable.name} is required and not set; set it in the agent's "
                f'"env" or in "env" of the prompt'
            )
        if variable.type == "text":
            shown[variable.name] = values.get(variable.name, "")
    return shown


def bind(sections: Sequence[Section], values: Env) -> tuple[Section, ...]:
    """Sections with every variable in its place, as one line that cannot begin a heading.

    Raises:
        DefinitionError: a variable stands in the text that is secret or not declared.
    """
    return tuple(
        _bound(section, section.body.name, values)
        if isinstance(section.body, Variable)
        else section
        for section in sections
    )


def _bound(section: Section, name: str, values: Env) -> Section:
    if name not in values:
        raise DefinitionError(
            f"prompt '{section.source}': {name} may stand in the text only when it is declared in "
            '"variables" with type "text"'
        )
    return replace(section, body=Text(" ".join(values[name].split())), trust="data")
