"""One file for each screen: it reads plain values and renders them."""

from orchestrator.extensions.page.edit_forms.agents_schema import read_schema_text
from orchestrator.extensions.page.screens import (
    agent_list,
    chats,
    decisions,
    expenses,
    extension_screen,
    first_setup,
    key_list,
    log_lines,
    machine_state,
    manual_pages,
    memory_list,
    now,
    people_list,
    prompt_layers,
    search_results,
    settings_form,
    settings_overview,
    task_calendar,
    task_form,
    text_editor,
    text_history,
    text_list,
    tool_overview,
    turn_table,
    waterfall,
)
from orchestrator.extensions.page.static_files import build_static_url

SCREENS = (
    *now.SCREENS,
    *chats.SCREENS,
    *turn_table.SCREENS,
    *waterfall.SCREENS,
    *prompt_layers.SCREENS,
    *decisions.SCREENS,
    *expenses.SCREENS,
    *memory_list.SCREENS,
    *task_form.SCREENS,  # before the list, whose tasks have any name
    *task_calendar.SCREENS,
    *first_setup.SCREENS,
    *key_list.SCREENS,
    *people_list.SCREENS,
    *agent_list.SCREENS,
    *settings_overview.SCREENS,
    *settings_form.SCREENS,
    *text_list.SCREENS,
    *text_history.SCREENS,  # before the editor, whose names contain slashes
    *text_editor.SCREENS,
    *tool_overview.SCREENS,
    *log_lines.SCREENS,
    *machine_state.SCREENS,
    *manual_pages.SCREENS,
    *search_results.SCREENS,
    *extension_screen.SCREENS,
)


def load_shared_content() -> None:
    """Read what all sessions are shown: the files of the page, the manual, and the schema."""
    build_static_url("page.css")
    manual_pages.load_manual_pages()
    read_schema_text()
