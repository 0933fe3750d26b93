"""Commands that print data of the journal."""
