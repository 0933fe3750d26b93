"""One file for each screen: it reads plain values and renders them."""

from orchestrator.extensions.page.edit_forms.agents_schema import read_schema_text
from orchestrator.extensions.page.screens import (
    branch_question,
    chats,
    decisions,
    expenses,
    extension_screen,
    log_lines,
    machine_state,
    manual_pages,
    now,
    prompt_layers,
    search_results,
    setup_screens,
    task_table,
    tool_overview,
    trial_screens,
    turn_table,
    waterfall,
)
from orchestrator.extensions.page.static_files import build_static_url

SCREENS = (
    *now.SCREENS,
    *chats.SCREENS,
    *branch_question.SCREENS,
    *turn_table.SCREENS,
    *waterfall.SCREENS,
    *prompt_layers.SCREENS,
    *trial_screens.SCREENS,
    *decisions.SCREENS,
    *expenses.SCREENS,
    *setup_screens.SCREENS,  # before others with names of any form
    *task_table.SCREENS,
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
