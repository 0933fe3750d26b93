"""The TLS context with the trusted certificates."""

import os
import ssl
from functools import cache

import certifi


@cache
def tls_context() -> ssl.SSLContext:
    """Return the TLS context for HTTP, loaded once.

    Loading takes longer than everything else in a client; forked processes inherit it.
    """
    context = load_trusted_context()
    context.set_alpn_protocols(["http/1.1"])
    return context


def load_trusted_context() -> ssl.SSLContext:
    """Load a TLS context for any protocol."""
    file, folder = os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR")
    if file or not folder:
        return ssl.create_default_context(cafile=file or certifi.where())
    return ssl.create_default_context(capath=folder)
