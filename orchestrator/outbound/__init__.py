"""The outbound side: from committed outbox rows to the chat platform.

`delivery` sends rows (T7, the platform call, T8), `preview` shows an answer while it is written,
and `attachments` fetches the pictures that came with a message before a model sees them.
"""
