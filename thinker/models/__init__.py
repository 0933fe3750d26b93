"""Model adapters: one request in, one response out, whichever API the provider has.

`choose` builds an agent's stack: an adapter for the wire format, wrapped for retries, fallbacks,
circuit breaking, tools as text, vision and structured output.
"""
