"""E-mail: a mailbox over IMAP, answers over SMTP by aiosmtplib."""
