"""The screens where earlier turns are tried again, and kept as tests."""

from orchestrator.extensions.page.screens import (
    saved_sets,
    trial_list,
    trial_result,
    trial_start,
)

SCREENS = (
    *trial_list.SCREENS,
    *trial_result.SCREENS,
    *trial_start.SCREENS,
    *saved_sets.SCREENS,
)
