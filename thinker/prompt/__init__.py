"""The system prompt of a turn.

`base_prompt` chooses the base prompt, `layers` has one function per layer, and `compose` puts them
in order. In the cached layout, which `thinker.preparation` selects by the agent's `promptLayout`,
`cached` moves the layers that change to the newest message, so that provider caches hit.
`fingerprint` hashes texts. `render` turns prompt definitions into text. Hooks may change
the result.
"""
