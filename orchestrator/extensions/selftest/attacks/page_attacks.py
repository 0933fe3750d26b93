"""All attacks on the page."""

from orchestrator.extensions.selftest.attacks import (
    page_edit_files,
    page_edit_secrets,
    page_edits,
    page_forms,
    page_limits,
    page_logins,
    page_roles,
    page_texts,
)

ATTACKS = (
    *(*page_forms.ATTACKS, *page_roles.ATTACKS, *page_logins.ATTACKS),
    *(*page_limits.ATTACKS, *page_texts.ATTACKS, *page_edits.ATTACKS),
    *(*page_edit_files.ATTACKS, *page_edit_secrets.ATTACKS),
)
