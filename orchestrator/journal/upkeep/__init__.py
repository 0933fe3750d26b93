"""Changes of old records: compaction of sessions, retention, erasure of a chat or an agent."""
