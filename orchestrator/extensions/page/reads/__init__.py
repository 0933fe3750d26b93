"""The screens' queries of the journal."""
