"""Model adapters: one request in, one response out, whatever the provider speaks.

`choose` builds the stack for an agent: an adapter for the wire format, wrapped for retries,
fallbacks, circuit breaking, text tool calls, vision and structured output.
"""
