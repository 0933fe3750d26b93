"""The screens where things are set up and changed."""

from orchestrator.extensions.page.screens import (
    agent_list,
    first_setup,
    key_list,
    memory_list,
    people_list,
    settings_form,
    settings_overview,
    task_form,
    text_editor,
    text_history,
    text_list,
)

SCREENS = (
    *first_setup.SCREENS,
    *agent_list.SCREENS,
    *people_list.SCREENS,
    *key_list.SCREENS,
    *settings_overview.SCREENS,
    *settings_form.SCREENS,
    *memory_list.SCREENS,
    *task_form.SCREENS,
    *text_list.SCREENS,
    *text_history.SCREENS,  # before the editor, for names of any form
    *text_editor.SCREENS,
)
