"""Rewind and fork: go on from an earlier point of a conversation, and act only once.

Where: does a conversation that was rewound repeat what it did?
"""
