"""Background work: compaction, fact extraction, embeddings, retention.

`maintenance_worker` finds what is due in the journal (`journal.upkeep.compaction` for sessions),
has the agent's worker do it (`thinker.compaction`, `thinker.facts`) and stores the result, so jobs
survive restarts. `embedding_index` embeds texts, `retention` deletes old records, `downtime`
warns after a long absence. None of it may delay an answer.
"""
