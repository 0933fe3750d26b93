"""Step 2, bind: replace variables by their values. Secrets never enter the text."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from thinker.formats.prompts.definition import Variable
from thinker.formats.prompts.problem import DefinitionError
from thinker.formats.prompts.substitution import PLACE, fill_known_variables
from thinker.prompt.render.sections import Bullets, Section, Structured, Text, VariablePart


def select_text_values(values: Mapping[str, str], declared: Iterable[Variable]) -> dict[str, str]:
    """Return the values of the variables of type text; empty for those without a value."""
    return {
        variable.name: values.get(variable.name, "")
        for variable in declared
        if variable.type == "text"
    }


def bind_variables(sections: Sequence[Section], values: Mapping[str, str]) -> tuple[Section, ...]:
    """Replace every variable by its value, as one line so that it cannot forge a heading.

    In text, ``${NAME}`` is a variable if it is declared with the type text; else it is text.

    Raises:
        DefinitionError: A variable part is secret or not declared.
    """
    lines = {name: " ".join(value.split()) for name, value in values.items()}
    return tuple(bound for section in sections for bound in _bind_section(section, lines))


def _bind_section(section: Section, lines: Mapping[str, str]) -> Iterator[Section]:
    body = section.body
    if isinstance(body, VariablePart):
        if body.name not in lines:
            raise DefinitionError(
                f"prompt '{section.source}': {body.name} may be used in the text only when"
                ' "variables" declares it with type "text"'
            )
        yield replace(section, body=Text(lines[body.name]), trust="data")
    elif isinstance(body, Text):
        yield from _split_text(section, body.text, lines)
    elif isinstance(body, Bullets):
        items = tuple(str(fill_known_variables(item, lines)) for item in body.items)
        yield replace(section, body=Bullets(items))
    elif isinstance(body, Structured):
        yield replace(section, body=Structured(fill_known_variables(body.value, lines)))
    else:
        yield section


def _split_text(section: Section, text: str, lines: Mapping[str, str]) -> Iterator[Section]:
    """Yield a text and the variables in it, one after the other without a separator."""
    at = 0
    for place in PLACE.finditer(text):
        if place[1] in lines:
            yield replace(section, body=Text(text[at : place.start()]))
            section = replace(section, title="", attached=True)
            yield replace(section, body=Text(lines[place[1]]), trust="data")
            at = place.end()
    if at == 0:
        yield section
    elif text[at:]:
        yield replace(section, body=Text(text[at:]))
