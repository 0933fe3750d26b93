"""`orchestrator help`: the pages of the manual, and a search through them."""
