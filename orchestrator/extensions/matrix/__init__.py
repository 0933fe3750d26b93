"""Matrix: rooms of any homeserver, over its client-server API, by matrix-nio."""
