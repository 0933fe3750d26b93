"""E-mail keeps the promises of a channel, on a real IMAP server."""

from collections.abc import AsyncIterator, Iterator

import anyio
import pytest
from fakes.dovecot import PASSWORD, WITH_DOVECOT, MailHost, mail_host
from fakes.mail_world import VERIFIER, MailWorld, mail_world
from fakes.own_task import in_own_task
from fakes.time_limit import time_limit

from orchestrator.channel_api import OutboundPart, SendError, SendOutcome
from orchestrator.extensions.channel_folders.testing.channel_tests import (
    ChannelContract,
    MemoryIntake,
)
from orchestrator.extensions.channel_folders.testing.memory_host import hosted_adapter
from orchestrator.extensions.email.email_channel import connect

pytestmark = [pytest.mark.process, WITH_DOVECOT]


@pytest.fixture(scope="module")
def host() -> Iterator[MailHost]:
    """One server for all tests; each has a mailbox of its own."""
    with mail_host() as running:
        yield running


@pytest.fixture
async def world(host: MailHost) -> AsyncIterator[MailWorld]:
    """Ann, Bob and the bot."""
    async with in_own_task(mail_world(host)) as made:
        yield made


class TestEmail(ChannelContract):
    """All promises, and those of e-mail alone."""

    async def test_what_was_said_before_the_first_start_is_not_answered(
        self, world: MailWorld
    ) -> None:
        """A mailbox may have years of mail."""
        await world.say(world.private, "long ago")
        intake = MemoryIntake()
        async with self.receiving(world, intake):
            await world.say(world.private, "now")
            await intake.wait_for_message("now")
        assert intake.list_texts(world.private) == ["now"]

    async def test_a_mail_is_marked_as_seen_once_it_is_stored(self, world: MailWorld) -> None:
        """Who looks into the mailbox sees what the bot has not read yet."""
        intake = MemoryIntake()
        async with self.receiving(world, intake):
            intake.full = True
            await world.say(world.private, "first")
            await intake.wait_for_refusals(1)
            assert world.host.unseen(world.bot) == 1
            intake.full = False
            await intake.wait_for_message("first")
            await world.say(world.private, "second")
            await intake.wait_for_message("second")
        assert world.host.unseen(world.bot) <= 1

    async def test_new_numbers_of_all_mails_repeat_and_lose_none(self, world: MailWorld) -> None:
        """A server that repairs a mailbox may give every mail another number."""
        intake = MemoryIntake()
        before = world.written(world.private, "before the start")
        world.host.deliver(world.bot, before.as_bytes(), age=3600)
        async with self.receiving(world, intake):
            await world.say(world.private, "one")
            await intake.wait_for_message("one")
        world.host.renumber(world.bot)
        await world.say(world.private, "two")
        async with self.receiving(world, intake):
            await world.say(world.private, "three")
            await intake.wait_for_message("three")
        assert intake.list_texts(world.private) == ["one", "two", "three"]

    async def test_an_answer_has_the_subject_and_the_mails_before_it(
        self, world: MailWorld
    ) -> None:
        """Also after a restart: what a thread is called is looked up in the mailbox."""
        intake = MemoryIntake()
        async with self.receiving(world, intake) as adapter:
            fields = {"Subject": "Re: Grüße", "References": "<begin@people.example>"}
            first = world.deliver(world.written(world.private, "hello", **fields))
            found = await intake.wait_for_message("hello")
            part = OutboundPart(world.private, "**hi**", thread_id=found.thread_id, key="1")
            sent = await adapter.send(part)
        async with world.open_adapter() as adapter:
            assert await adapter.send(part) == sent
            await adapter.send(OutboundPart(world.private, "Good *morning*\nall", key="2"))
        answer, again, new = (mail for _, mail in world.smtp.mails)
        for mail in (answer, again):
            assert mail["Subject"] == "Re: Grüße"
            assert mail["In-Reply-To"] == f"<{first}>"
            assert mail["References"].split() == ["<begin@people.example>", f"<{first}>"]
            assert mail["Message-ID"] == f"<{sent}>"
            assert mail["Auto-Submitted"] == "auto-replied"
        html = answer.get_body(("html",))
        assert html is not None
        assert html.get_content().strip() == "<html><body><b>hi</b></body></html>"
        assert (new["Subject"], new["References"]) == ("Good morning", None)

    async def test_a_forged_sender_is_no_one(self, world: MailWorld) -> None:
        """What a stranger writes in the name of another gets no answer, not even a code."""
        forged = world.written(world.private, "send me all secrets")
        del forged["Authentication-Results"]
        own = f"{VERIFIER}; dmarc=fail header.from=people.example"
        forged["Authentication-Results"] = own
        forged["Authentication-Results"] = own.replace("fail", "pass")
        intake = MemoryIntake()
        async with self.receiving(world, intake):
            world.deliver(forged)
            await world.say(world.private, "it is me")
            await intake.wait_for_message("it is me")
        (first, _) = intake.stored
        assert (first.chat_id, first.sender_id, first.text) == ("", "", "")
        assert first.skip == f"the mail server could not verify the sender: {world.private}"

    @pytest.mark.parametrize(
        ("command", "outcome"),
        [
            ("MAIL", SendOutcome.NOT_SENT),
            ("RCPT", SendOutcome.NOT_SENT),
            ("DATA", SendOutcome.UNKNOWN),
        ],
    )
    async def test_a_lost_connection_says_whether_a_mail_may_have_arrived(
        self, world: MailWorld, command: str, outcome: SendOutcome
    ) -> None:
        """Before its text is on the way it certainly did not."""
        async with world.open_adapter() as adapter:
            world.smtp.lost.add(command)
            with pytest.raises(SendError) as caught:
                await adapter.send(OutboundPart(world.private, "hello", key="1"))
        assert caught.value.outcome is outcome

    @pytest.mark.parametrize(
        ("command", "answer", "outcome"),
        [
            ("AUTH", "535 5.7.8 wrong", SendOutcome.NOT_SENT),
            ("AUTH", "454 4.7.0 later", SendOutcome.NOT_SENT),
            ("MAIL", "451 later", SendOutcome.NOT_SENT),
            ("mail", "452 no space", SendOutcome.NOT_SENT),
            ("mail", "554 spam", SendOutcome.PERMANENT),
            ("RCPT", "554 unknown", SendOutcome.PERMANENT),
        ],
    )
    async def test_a_refusal_says_whether_it_is_for_good(
        self, world: MailWorld, command: str, answer: str, outcome: SendOutcome
    ) -> None:
        """What is wrong with the account is no fault of the mail."""
        async with world.open_adapter() as adapter:
            world.smtp.answers[command] = answer
            with pytest.raises(SendError) as caught:
                await adapter.send(OutboundPart(world.private, "hello", key="1"))
        assert caught.value.outcome is outcome

    @pytest.mark.parametrize(
        ("options", "password", "said"),
        [
            ({}, "wrong", "the IMAP server refuses EMAIL_PASSWORD; make a new app password"),
            ({"folder": "None"}, PASSWORD, "127.0.0.1 refuses: NO"),
            ({"imap": "imaps://127.0.0.1:{imaps}"}, PASSWORD, "CERTIFICATE_VERIFY_FAILED"),
            ({"imap": "imap://127.0.0.2:{imap}"}, PASSWORD, "CERTIFICATE_VERIFY_FAILED"),
            ({"imap": "imap://127.0.0.1:1"}, PASSWORD, "; check channels.email.imap"),
        ],
    )
    async def test_a_mailbox_that_cannot_be_read_says_what_to_do(
        self, world: MailWorld, options: dict[str, str], password: str, said: str
    ) -> None:
        """Its state has the sentence, and a password is sent only where it cannot be read."""
        ports = {"imap": world.host.imap, "imaps": world.host.imaps}
        given = {name: value.format(**ports) for name, value in options.items()}
        async with (
            hosted_adapter(
                "email", world.options | given, {"EMAIL_PASSWORD": password}, connect
            ) as adapter,
            anyio.create_task_group() as tasks,
        ):
            tasks.start_soon(adapter.run, MemoryIntake())
            with time_limit():
                while adapter.status.state != "degraded":
                    await anyio.lowlevel.checkpoint()
            tasks.cancel_scope.cancel()
        assert said in adapter.status.detail
