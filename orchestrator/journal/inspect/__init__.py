"""Views of the whole journal: traces, recent turns, and the invariants."""
