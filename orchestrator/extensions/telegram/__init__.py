"""Telegram: updates in by polls or by webhook, messages and edits out, over the Bot API.

`adapter` is the channel, and `reception` hands what comes to the journal, by polls or through
`webhook`. `bot_api` has the HTTP calls, `bot_errors` what a failed call means: it reads
``retry_after`` of a 429, and `reception` (for updates) and `orchestrator.outbound.flood_control`
(for chats) wait that long. `orchestrator.channels.pacing` delays calls in advance, to avoid a 429.
`updates` and `media` are pure translations.
"""
