"""The database: the writer thread with group commit, readers, records, and the audit log."""
