"""Sound and pictures by models: transcripts of recordings, speech, drawings.

The agents' workers make the calls; `media_calls` checks the budget of each.
"""
