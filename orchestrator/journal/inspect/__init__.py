"""Reading the journal as a whole: traces, recent turns, and the invariants that always hold."""
