"""Commands that print what the journal holds, and decide about it."""
