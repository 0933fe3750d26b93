"""A definition with all that it needs, as it travels to a worker with a turn."""

from collections.abc import Iterator, Mapping

from thinker.formats.prompts.definition import PromptDefinition
from thinker.formats.prompts.registry import include_order
from thinker.formats.prompts.sources import Source
from thinker.protocol.messages import Frozen, JsonObject


class PromptBundle(Frozen):
    """The definition ``name``, everything that it includes, and the prompts that are its tools."""

    name: str
    definitions: dict[str, PromptDefinition]

    @property
    def root(self) -> PromptDefinition:
        """The definition itself."""
        return self.definitions[self.name]

    def as_json(self) -> JsonObject:
        """As it crosses the wire: what was not written stays unwritten."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)

    @property
    def secret(self) -> frozenset[str]:
        """The names of the variables that somebody declares secret."""
        return frozenset(self._declared("secret"))

    @property
    def worded(self) -> frozenset[str]:
        """The names of the variables that may stand in a text: nobody declares them secret."""
        return frozenset(self._declared("text")) - self.secret

    def _declared(self, kind: str) -> Iterator[str]:
        variables = (v for found in self.definitions.values() for v in found.variables)
        return (variable.name for variable in variables if variable.type == kind)

    def sources(self) -> dict[str, Source]:
        """What can be included, by name."""
        return {name: found.prompt for name, found in self.definitions.items()}

    def included(self) -> Iterator[PromptDefinition]:
        """The definitions whose words the prompt is made of, itself last."""
        return (self.definitions[name] for name in include_order(self.sources(), self.name))


def bundle(definitions: Mapping[str, PromptDefinition], name: str) -> PromptBundle:
    """The part of a library that the definition ``name`` needs.

    Raises:
        CircularIncludeError: includes go in a circle.
        UnknownPromptError: the library lacks one.
    """
    sources = {key: found.prompt for key, found in definitions.items()}
    needed: dict[str, PromptDefinition] = {}
    wanted, seen = [name], set[str]()
    while wanted:
        current = wanted.pop()
        if current in seen:
            continue
        seen.add(current)
        for part in include_order(sources, current):
            needed[part] = definitions[part]
        tools = definitions[current].tools or ()
        wanted += [entry.name for entry in tools if entry.name in definitions]
    return PromptBundle(name=name, definitions=needed)
