"""Background work on the journal: retention, and a check of the file.

`retention_job` deletes old records by `retention`, and `journal_check` looks for damaged pages by
`damage_reader`; if the file is large, in a process of its own (`__main__`). Neither may delay an
answer.
"""
