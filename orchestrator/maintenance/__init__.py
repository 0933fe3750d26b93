"""Work off the reply's path: compaction, fact extraction, embeddings, retention.

What is due is in the journal, so it survives restarts. None of it may delay an answer.
"""
