"""The OpenAI-compatible endpoints, and the older interface of agents' ports.

A call passes `endpoints`, `parsed_request`, `pending_response` and `response_formatters`: its body
is parsed and stored in the journal as a request, and the turn's outcome becomes its response.
`endpoints` reads the Idempotency-Key, `new_requests` finds the request that used it.
`agent_ports` is the older interface. A web server is loaded only where there is a token or a port.
"""
