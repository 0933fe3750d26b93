"""The database itself: the writer thread with group commit, readers, savepoints, the audit log."""
