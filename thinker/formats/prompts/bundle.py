"""A prompt definition with everything it needs, as a turn carries it to a worker."""

from collections.abc import Iterator, Mapping

from thinker.formats.prompts.definition import PromptDefinition
from thinker.formats.prompts.registry import order_includes
from thinker.formats.prompts.sources import Source
from thinker.protocol.messages import Frozen, JsonObject


class PromptBundle(Frozen):
    """The definition ``name`` with its includes and with the prompts among its tools."""

    name: str
    definitions: dict[str, PromptDefinition]

    @property
    def root(self) -> PromptDefinition:
        return self.definitions[self.name]

    def dump_json(self) -> JsonObject:
        """Return the bundle as JSON for the wire, without fields that are not set."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)

    @property
    def secret_names(self) -> frozenset[str]:
        return frozenset(self._list_declared_names("secret"))

    @property
    def text_variables(self) -> frozenset[str]:
        """The variables whose values may appear in the prompt's text."""
        return frozenset(self._list_declared_names("text")) - self.secret_names

    def _list_declared_names(self, kind: str) -> Iterator[str]:
        variables = (v for found in self.definitions.values() for v in found.variables)
        return (variable.name for variable in variables if variable.type == kind)

    def collect_sources(self) -> dict[str, Source]:
        return {name: found.prompt for name, found in self.definitions.items()}

    def list_included_definitions(self) -> Iterator[PromptDefinition]:
        """Iterate over the definitions that make up the prompt's text, the root last."""
        return (
            self.definitions[name] for name in order_includes(self.collect_sources(), self.name)
        )


def bundle_definitions(definitions: Mapping[str, PromptDefinition], name: str) -> PromptBundle:
    """Return the definitions of a library that the definition ``name`` needs.

    Raises:
        CircularIncludeError: Definitions include each other.
        UnknownPromptError: A definition is not in the library.
    """
    sources = {key: found.prompt for key, found in definitions.items()}
    needed: dict[str, PromptDefinition] = {}
    pending, seen = [name], set[str]()
    while pending:
        current = pending.pop()
        if current in seen:
            continue
        seen.add(current)
        needed |= {part: definitions[part] for part in order_includes(sources, current)}
        tools = definitions[current].tools or ()
        pending += [entry.name for entry in tools if entry.name in definitions]
    return PromptBundle(name=name, definitions=needed)
