"""What models make of sound and pictures: text of recordings, speech of answers, pictures.

The agents' workers make the calls; `media_calls` is where all of them pass the budgets.
"""
