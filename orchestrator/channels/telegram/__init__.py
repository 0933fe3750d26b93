"""Telegram: long polling in, messages and edits out, over the Bot API.

`adapter` is the channel, `bot_api` the HTTP calls, `bot_errors` what a failed call means.
`updates`, `media` and `formatting` are pure translations; `pacing` keeps to the platform's limits.
"""
