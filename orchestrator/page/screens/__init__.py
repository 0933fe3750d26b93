"""One file for each screen: reading plain values, and drawing them."""

from orchestrator.page.screens import (
    chats,
    decisions,
    expenses,
    log_lines,
    machine_state,
    manual_pages,
    now,
    prompt_layers,
    search_results,
    task_calendar,
    tool_overview,
    turn_table,
    waterfall,
)

SCREENS = (
    *now.SCREENS,
    *chats.SCREENS,
    *turn_table.SCREENS,
    *waterfall.SCREENS,
    *prompt_layers.SCREENS,
    *decisions.SCREENS,
    *expenses.SCREENS,
    *task_calendar.SCREENS,
    *tool_overview.SCREENS,
    *log_lines.SCREENS,
    *machine_state.SCREENS,
    *manual_pages.SCREENS,
    *search_results.SCREENS,
)
