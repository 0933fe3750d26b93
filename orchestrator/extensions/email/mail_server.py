"""An account's servers, and how connections to them are encrypted."""

from dataclasses import dataclass
from urllib.parse import urlsplit

from thinker.http.tls import load_trusted_context

PORTS = {"imaps": 993, "imap": 143, "smtps": 465, "smtp": 587}
LOCAL = ("localhost", "127.0.0.1")
TLS = load_trusted_context()  # created at import, before the jail hides the certificate files


@dataclass(frozen=True)
class MailServer:
    """A server of IMAP or SMTP.

    With ``tls`` a connection is encrypted from its first byte; otherwise by STARTTLS, which only a
    server on this machine may lack.
    """

    name: str  # of its option in agents.json
    host: str
    port: int
    tls: bool

    @property
    def is_local(self) -> bool:
        """Whether the server is on this machine."""
        return self.host in LOCAL


def parse_mail_server(url: str) -> MailServer:
    """Parse the address of a server, such as ``imaps://imap.example.org``."""
    parts = urlsplit(url)
    port = parts.port or PORTS[parts.scheme]
    secure = parts.scheme.endswith("s")
    return MailServer(parts.scheme[:4], parts.hostname or "", port, tls=secure)
