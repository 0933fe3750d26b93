"""The layouts as `orchestrator prompt show` prints them."""

from collections.abc import Mapping, Sequence

import orjson

from orchestrator.extensions.agently.blocks import EmptyPromptError
from orchestrator.extensions.agently.message_layout import render_agently_messages
from orchestrator.extensions.agently.text_layout import render_agently_text
from thinker.formats.prompts.problem import DefinitionError
from thinker.prompt.render.layouts import Layout
from thinker.prompt.render.sections import Section


def format_as_text(sections: Sequence[Section]) -> str:
    """Return the layout ``agently_text``."""
    try:
        return render_agently_text(sections).text
    except EmptyPromptError as error:
        raise DefinitionError(str(error.args[0])) from error


def format_as_messages(sections: Sequence[Section]) -> str:
    """Return the layout ``agently_messages``, each message as a line of JSON."""
    try:
        messages = render_agently_messages(sections, rich_content=True).messages
    except EmptyPromptError as error:
        raise DefinitionError(str(error.args[0])) from error
    return "\n".join(orjson.dumps(message).decode() for message in messages)


LAYOUTS: Mapping[str, Layout] = {
    "agently_text": format_as_text,
    "agently_messages": format_as_messages,
}
