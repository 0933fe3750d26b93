"""Make what a trial changed so: its texts and values, in the editors that save them."""

from collections.abc import AsyncIterator

import htpy as h

from orchestrator.control.trials import TrialReport
from orchestrator.extensions.page import edit_calls
from orchestrator.extensions.page.edit_forms import agents_schema
from orchestrator.extensions.page.edit_forms.agents_schema import AGENTS_FILE
from orchestrator.extensions.page.html.forms import (
    build_link,
    render_button,
    render_hidden_fields,
)
from orchestrator.extensions.page.html.outside_text import show_hidden_characters
from orchestrator.extensions.page.html.vocabulary import render_link_button, render_panel
from orchestrator.extensions.page.screen_request import ScreenRequest
from orchestrator.extensions.page.screens.settings_form import build_form_link
from orchestrator.extensions.page.screens.text_editor import build_text_link

BY_HAND = (
    "Other parts of the prompt and the list of tools are set in the agent's texts and settings."
)


async def render_adoption(request: ScreenRequest, trial: TrialReport) -> h.Node:
    """Render a button for each change: it opens the editor, which saves nothing by itself."""
    buttons = [one async for one in _iter_buttons(request, trial)]
    change = trial.change
    by_hand = bool(change.layers or change.add_tools or change.remove_tools)
    if not (buttons or by_hand):
        return None
    return render_panel(
        "Make it so",
        h.p(class_="soft")["An editor opens with the change; nothing is saved before you save it."],
        h.div(class_="row")[buttons] if buttons else None,
        h.p(class_="soft")[BY_HAND] if by_hand else None,
        render_link_button("The agent", build_link("agents", trial.agent_id)) if by_hand else None,
    )


async def _iter_buttons(request: ScreenRequest, trial: TrialReport) -> AsyncIterator[h.Element]:
    for name, text in trial.change.files.items():
        found = await edit_calls.read_text(request, name)
        if found.text != text:
            label = f"Edit {show_hidden_characters(name)} …"
            fields = {"base": found.base, "text": text, "do": "check"}
            yield _render_edit(request, build_text_link(name), fields, label)
    values = _list_values(trial)
    if values:
        file = await edit_calls.read_text(request, AGENTS_FILE)
        whole = agents_schema.parse_agents_text(file.text)
        place = agents_schema.find_agent_place(whole, trial.agent_id)
        if place is not None:
            fields = {**values, "base": file.base, "do": "check"}
            label = f"Change {show_hidden_characters(trial.agent_id)} …"
            yield _render_edit(request, build_form_link("agents", place), fields, label)


def _list_values(trial: TrialReport) -> dict[str, str]:
    """Return the values of an agent that a trial changed, by the fields of its form."""
    change, found = trial.change, dict[str, str]()
    if change.model is not None:
        provider, _, model = change.model.partition("/")
        found |= {"field.llmProvider": provider, "field.model": model}
    if change.temperature is not None:
        found["field.temperature"] = f"{change.temperature:g}"
    if change.effort is not None:
        found["field.effort"] = str(change.effort)
    return found


def _render_edit(
    request: ScreenRequest, action: str, fields: dict[str, str], label: str
) -> h.Element:
    return h.form(method="post", action=action, class_="row")[
        render_hidden_fields(request, fields), render_button(label, icon="edit")
    ]
