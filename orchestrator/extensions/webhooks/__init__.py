"""Webhooks: `hook_body` parses a body, `signatures` verifies its sender.

`webhooks` is the adapter, `hook_post` sends agents' messages to servers. The endpoint is in
`orchestrator.extensions.webhooks.hook_endpoint`.
"""
