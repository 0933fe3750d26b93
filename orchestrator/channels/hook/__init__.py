"""Webhooks: `hook_body` reads what one brings, `signatures` tells who sent it.

`webhooks` is the adapter, `hook_post` tells servers what agents say. The endpoint is in
`orchestrator.http_api.hook_endpoint`.
"""
