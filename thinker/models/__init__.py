"""Adapters to model providers: one file each, chosen in `thinker.models.choose`."""
