"""Small models on this machine, for people without a key or a model server.

`model_download` fetches what the language model lacks, which `orchestrator local-model` asks about
first; the embeddings model comes in a package. `server_part` runs the servers, `llama_server` and
`embedding_server`, as processes of the daemon while an agent uses the providers ``local`` and
``local-embeddings``.
"""
