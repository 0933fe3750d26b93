"""The broker: a separate process that holds the providers' keys and makes the workers' requests.

A worker has no key and no network. It passes one end of a socketpair over its channel, and the
broker serves it as a proxy, for the addresses of that agent alone.
"""
