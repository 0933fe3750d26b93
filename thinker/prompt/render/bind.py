"""Step 2, bind: variables get their values. A secret is for tools alone, never for the text."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from thinker.formats.prompts.definition import Variable as Declared
from thinker.formats.prompts.problem import DefinitionError
from thinker.prompt.render.sections import Section, Text, VariablePart


def for_text(values: Mapping[str, str], declared: Iterable[Declared]) -> dict[str, str]:
    """The values that may stand in a prompt's text: of those declared as text, and no others."""
    return {
        variable.name: values.get(variable.name, "")
        for variable in declared
        if variable.type == "text"
    }


def bind(sections: Sequence[Section], values: Mapping[str, str]) -> tuple[Section, ...]:
    """Sections with every variable in its place, as one line that cannot begin a heading.

    Raises:
        DefinitionError: a variable stands in the text that is secret or not declared.
    """
    return tuple(
        _bound(section, section.body.name, values)
        if isinstance(section.body, VariablePart)
        else section
        for section in sections
    )


def _bound(section: Section, name: str, values: Mapping[str, str]) -> Section:
    if name not in values:
        raise DefinitionError(
            f"prompt '{section.source}': {name} may stand in the text only when it is declared in "
            '"variables" with type "text"'
        )
    return replace(section, body=Text(" ".join(values[name].split())), trust="data")
