"""The TLS context with the trusted certificates."""

import os
import ssl
from functools import cache

import certifi


@cache
def tls_context() -> ssl.SSLContext:
    """Return the context, loaded once.

    Loading takes longer than everything else in a client; forked processes inherit it.
    """
    file, folder = os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR")
    if file or not folder:
        context = ssl.create_default_context(cafile=file or certifi.where())
    else:
        context = ssl.create_default_context(capath=folder)
    context.set_alpn_protocols(["http/1.1"])
    return context
