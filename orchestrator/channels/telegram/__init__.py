"""Telegram: long polling in, messages and edits out, over the Bot API.

`adapter` is the channel, `bot_api` the HTTP calls, `bot_errors` what a failed call means: it reads
``retry_after`` of a 429, and `adapter` (for polls) and `orchestrator.outbound.flood_control` (for
chats) wait that long. `orchestrator.channels.pacing` delays calls in advance, to avoid a 429.
`updates` and `media` are pure translations.
"""
