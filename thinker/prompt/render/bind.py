"""Step 2, bind: replace variables by their values. Secrets never enter the text."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from thinker.formats.prompts.definition import Variable
from thinker.formats.prompts.problem import DefinitionError
from thinker.prompt.render.sections import Section, Text, VariablePart


def select_text_values(values: Mapping[str, str], declared: Iterable[Variable]) -> dict[str, str]:
    """Return the values of the variables of type text; empty for those without a value."""
    return {
        variable.name: values.get(variable.name, "")
        for variable in declared
        if variable.type == "text"
    }


def bind_variables(sections: Sequence[Section], values: Mapping[str, str]) -> tuple[Section, ...]:
    """Replace every variable by its value, as one line so that it cannot forge a heading.

    Raises:
        DefinitionError: A variable in the text is secret or not declared.
    """
    return tuple(
        _bind_section(section, section.body.name, values)
        if isinstance(section.body, VariablePart)
        else section
        for section in sections
    )


def _bind_section(section: Section, name: str, values: Mapping[str, str]) -> Section:
    if name not in values:
        raise DefinitionError(
            f"prompt '{section.source}': {name} may be used in the text only when \"variables\" "
            'declares it with type "text"'
        )
    return replace(section, body=Text(" ".join(values[name].split())), trust="data")
