"""The database: the writer thread with group commit, readers, savepoints and the audit log."""
