"""The OpenAI-compatible endpoints, and the older interface of agents' ports.

Each call is stored as a request in the journal; the turn's outcome becomes its response. A web
server is loaded only while there is a token.
"""
