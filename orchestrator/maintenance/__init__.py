"""Background work: compaction, fact extraction, embeddings, retention.

The journal knows what is due, so it survives restarts. None of it may delay an answer.
"""
