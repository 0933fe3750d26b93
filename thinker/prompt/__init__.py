"""The system prompt of a turn.

`base_prompt` chooses the base prompt, `layers` has one function per layer, `compose` their order,
and `cached` moves the changing ones behind the history so that provider caches hold. `fingerprint`
tells whether two texts are the same. Prompt definitions are rendered by `render`. Everything here
is pure; hooks (`thinker.hooks`) may change the outcome.
"""
