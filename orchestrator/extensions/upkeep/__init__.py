"""Background work: summaries, facts, their vectors, retention, and a check of the journal.

`maintenance_worker` finds what is due in the journal (`due_sessions` for sessions), has the agent's
worker do it (`worker/compaction`, `worker/facts`) and stores the result, so jobs survive
restarts. `retention_job` deletes old records by `retention`, and `journal_check` looks for damaged
pages by `damage_reader`. None of it may delay an answer.
"""
