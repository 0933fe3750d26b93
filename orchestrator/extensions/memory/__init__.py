"""What agents remember: facts, profile, summaries, and the search in all that was said.

`memory_tools` and `profile_tools` are the agents' tools, `message_search` finds what was said, and
`commands/memory` is for people. `maintenance_worker` finds what is due in the journal
(`due_sessions`), has the agent's worker do it (`worker/compaction`, `worker/facts`) and stores the
result, so jobs survive restarts. None of it may delay an answer.
"""
