"""A small language model on this machine, for people without a key or a model server.

`model_download` fetches what is missing, which `orchestrator local-model` asks about first.
`server_part` runs the server, `llama_server`, as a process of the daemon while an agent uses the
provider ``local``.
"""
