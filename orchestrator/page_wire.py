"""How the supervisor starts the page's process; what they say then is in `control`."""

FD_VARIABLE = "ORCHESTRATOR_PAGE_FD"
LOG_VARIABLE = "ORCHESTRATOR_LOG_LEVEL"
NAMES_VARIABLE = "ORCHESTRATOR_PAGE_NAMES"  # other names of this host, by commas
