"""Send mail by SMTP (RFC 5321) and report the outcome."""

from email.message import EmailMessage

import aiosmtplib
import anyio

from orchestrator.channel_api import SendError, SendOutcome
from orchestrator.extensions.email.mail_server import TLS, MailServer

GREETING_SECONDS = 20.0  # until the server takes a mail in
DATA_SECONDS = 25.0  # for the mail; together less than what a call may take
QUIT_SECONDS = 2.0
LATER = 60.0  # seconds until a busy server is tried again; it names no time
REFUSED = 60.0
PASSWORD_REFUSED = (
    "the {server} server refuses EMAIL_PASSWORD; make a new app password for the account"  # noqa: S105 - a sentence
)


async def send_mail(mail: EmailMessage, server: MailServer, user: str, password: str) -> None:
    """Send a mail to its recipients.

    Raises:
        SendError: with the known outcome. Once its text is being sent, only the server's answer
        tells whether it arrived.
    """
    smtp = aiosmtplib.SMTP(
        hostname=server.host,
        port=server.port,
        use_tls=server.tls,
        start_tls=not (server.tls or server.is_local),
        tls_context=TLS,
        timeout=DATA_SECONDS,
    )
    try:
        try:
            with anyio.fail_after(GREETING_SECONDS):
                await _begin_session(smtp, mail, user, password)
        except (aiosmtplib.SMTPException, OSError) as error:
            raise _build_send_error(error, SendOutcome.NOT_SENT) from error
        try:
            await smtp.data(mail.as_bytes())
        except (aiosmtplib.SMTPException, OSError) as error:
            raise _build_send_error(error, SendOutcome.UNKNOWN) from error
        with anyio.move_on_after(QUIT_SECONDS):
            await _quit_session(smtp)
    finally:
        smtp.close()


async def _begin_session(
    smtp: aiosmtplib.SMTP, mail: EmailMessage, user: str, password: str
) -> None:
    try:
        await smtp.connect()
        await smtp.ehlo()
        if smtp.supports_extension("auth"):  # a server on this machine may require no login
            await smtp.login(user, password)
    except aiosmtplib.SMTPAuthenticationError as error:
        words = PASSWORD_REFUSED.format(server="SMTP")
        raise SendError(words, SendOutcome.NOT_SENT, REFUSED) from error
    except aiosmtplib.SMTPResponseException as error:
        raise _build_send_error(error, SendOutcome.NOT_SENT, final=False) from error
    await smtp.mail(mail["From"])
    await smtp.rcpt(mail["To"])


async def _quit_session(smtp: aiosmtplib.SMTP) -> None:
    try:
        await smtp.quit()
    except (aiosmtplib.SMTPException, OSError):
        return  # it has the mail already


def _build_send_error(error: Exception, otherwise: SendOutcome, *, final: bool = True) -> SendError:
    """Build the error; ``final`` says whether a code of 500 is about this mail."""
    words = f"smtp: {' '.join(str(error).split()) or 'no answer in time'}"[:500]
    if not isinstance(error, aiosmtplib.SMTPResponseException):
        return SendError(words, otherwise)
    if final and 500 <= error.code < 600:  # noqa: PLR2004 - see RFC 5321
        return SendError(words, SendOutcome.PERMANENT)
    return SendError(words, SendOutcome.NOT_SENT, LATER)
