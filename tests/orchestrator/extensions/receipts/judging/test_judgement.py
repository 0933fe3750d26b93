"""Answers held against calls: what is shown, false, unconfirmed or not yet done."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.extensions.receipts.judging import JudgedCall, KnownTool, judge_answer
from orchestrator.extensions.receipts.judging.judgement import MAX_SENTENCES
from orchestrator.extensions.receipts.judging.reported_calls import CallState

WORDS = (
    "I've I sent email to Bob not if . , and but ? \n ich habe Mail gesendet 已 发送 邮件 了"
    ' " ` ** - bob@example.com notes.md $20 he enviado : ( ) ✅ done … wysłałem'
)
STATES: list[CallState] = ["done", "failed", "denied", "unknown", "waiting", "ledger"]


def mail(to: str, state: CallState = "done") -> JudgedCall:
    """A call that sends a mail."""
    return JudgedCall("send_email", "Send an e-mail.", f'{{"to": "{to}"}}', "ok", state)


@pytest.mark.parametrize(
    ("state", "verdict"),
    [
        ("done", "shown"),
        ("ledger", "shown"),
        ("failed", "false"),
        ("denied", "false"),
        ("unknown", "unconfirmed"),
        ("waiting", "not_yet"),
    ],
)
def test_verdict_follows_the_state_of_the_call(state: CallState, verdict: str) -> None:
    """One call of the kind decides."""
    [claim] = judge_answer("I've sent the email to Anna.", [mail("anna@example.com", state)], ())
    assert (claim.kind, claim.verdict) == ("send", verdict)
    assert claim.seqs == ((0,) if verdict == "shown" else ())


def test_claim_without_any_call_is_false_and_says_what_is_missing() -> None:
    """The note is what the chat may show."""
    [claim] = judge_answer("Done! I've sent the email to Anna.", (), ())
    assert claim.verdict == "false"
    assert claim.note == "no mail was sent in this conversation"


def test_note_says_that_no_tool_could_have_done_it() -> None:
    """The surest case: the agent has no tool of the kind."""
    offered = [KnownTool("get_weather", "Get the weather.")]
    [claim] = judge_answer("I've paid the bill.", (), offered)
    assert claim.note.endswith("no tool for it was offered")


def test_mail_to_another_person_is_false() -> None:
    """A done call is no evidence if it went elsewhere."""
    [claim] = judge_answer("I've sent the email to Bob.", [mail("anna@example.com")], ())
    assert (claim.verdict, claim.note) == ("false", "no call that was done names Bob")


def test_one_of_two_recipients_whose_mail_failed_is_found() -> None:
    """Also where the sentence names none of them."""
    calls = [mail("anna@example.com"), mail("bob@example.com", "failed")]
    for text in ("I've emailed Anna and sent it to Bob.", "Both emails were sent."):
        assert any(claim.verdict == "false" for claim in judge_answer(text, calls, ()))
    retried = [*calls, mail("bob@example.com")]
    [claim] = judge_answer("Both emails were sent.", retried, ())
    assert claim.verdict == "shown"


def test_recipient_may_be_named_as_the_contacts_name_it() -> None:
    """Who "Mom" is, a search has said."""
    found = JudgedCall("search_contacts", "", '{"q": "Mom"}', "Mom: lisa.k@example.com", "done")
    [claim] = judge_answer("I've sent it to Mom.", [found, mail("lisa.k@example.com")], ())
    assert claim.verdict == "shown"


def test_what_was_read_about_others_is_no_claim() -> None:
    """A status that a call returned may be told in the passive."""
    order = JudgedCall("get_order", "Get an order.", "{}", '{"status": "paid"}', "done")
    assert judge_answer("Order 4711 was paid this morning.", [order], ()) == ()
    assert judge_answer("I've paid order 4711.", [order], ()) != ()


def test_command_that_only_reads_shows_nothing() -> None:
    """Any other command may have had any effect."""
    text = "I deleted the build folder."
    for command, verdict in (("ls -la", "false"), ("rm -rf build", "shown")):
        call = JudgedCall("run_command", "", f'{{"command": "{command}"}}', "", "done")
        [claim] = judge_answer(text, [call], ())
        assert claim.verdict == verdict


def test_answer_that_only_says_done_needs_a_call() -> None:
    """Not if the calls were meant to read only."""
    assert [claim.verdict for claim in judge_answer("Done!", (), ())] == ["false"]
    assert judge_answer("Done!", [mail("anna@example.com")], ()) == ()
    assert judge_answer("Done!", [JudgedCall("get_time", "", "{}", "noon", "done")], ()) == ()
    assert judge_answer("Done! Here is the translation:\nHola", (), ()) == ()


@pytest.mark.parametrize(
    "text",
    [
        "한국어로 이메일을 보냈습니다.",
        "Az e-mailt elküldtem Annának.",
        "",
        "42",
    ],
)
def test_unknown_language_is_not_judged(text: str) -> None:
    """No words, no claims."""
    assert judge_answer(text, (), ()) == ()


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "All set — your reminder is set for 9 am."),
        ("de", "Ich habe dir den Termin eingetragen 👍"),
        ("es", "¡Listo! Ya he enviado el correo a Ana."),
        ("fr", "C'est fait : j'ai supprimé le fichier."),
        ("pl", "Gotowe! Wysłałem maila do Anny."),
        ("zh", "邮件已经发给张三了。"),
        ("zh", "郵件已發送給張三。"),
        ("it", "Fatto! Ho prenotato il tavolo."),
        ("pt", "Pronto! Enviei o e-mail."),
        ("nl", "Ik heb de afspraak in je agenda gezet."),
        ("ru", "Готово! Я отправил письмо."),
        ("uk", "Готово! Я надіслав лист."),
        ("tr", "E-posta ve mesaj gönderdim."),
    ],
)
def test_report_of_an_effect_is_found_in_each_language(language: str, text: str) -> None:
    """As models say it."""
    assert judge_answer(text, (), ()), language


@pytest.mark.parametrize(
    "text",
    [
        "Shall I send the email?",
        "I can send the email if you like.",
        "Once you confirm, the email will be sent.",
        "I haven't sent the email.",
        "Bob wrote: “I have sent the email.”",
        "Anna says the email was sent.",
        "Soll ich die Mail senden?",
        "Ich konnte die Mail leider nicht senden.",
        "Si confirmas, la cita quedará reservada.",
        "Je n'ai pas pu envoyer le message.",
        "Nie udało mi się wysłać wiadomości.",
        "如果您确认\uff0c我会发送邮件。",
        "```\nI have sent the email.\n```",
        "> I have sent the email.",
        "- [ ] Email sent to Bob",
        "Here is the draft:\nDear Bob,\nI have sent the invoice and booked the room.\nBest,\nAnna",
    ],
)
def test_what_reports_nothing_done_is_no_claim(text: str) -> None:
    """Questions, offers, conditions, negations, quotations, code, drafts."""
    assert judge_answer(text, (), ()) == ()


@given(
    st.lists(
        st.sampled_from(WORDS.split(" ")),
        max_size=40,
    ),
    st.lists(st.builds(JudgedCall, *[st.text(max_size=30)] * 4, st.sampled_from(STATES))),
)
def test_any_words_and_calls_are_judged(words: list[str], calls: list[JudgedCall]) -> None:
    """No answer raises, and what is shown has its calls."""
    for claim in judge_answer(" ".join(words), calls, ()):
        assert all(calls[seq].state in {"done", "ledger"} for seq in claim.seqs)
        assert (claim.verdict == "shown") == bool(claim.seqs)
        assert (claim.verdict == "shown") == (not claim.note)


@given(st.text())
def test_any_text_is_judged(text: str) -> None:
    """The same answer gives the same claims."""
    assert judge_answer(text, (), ()) == judge_answer(text, (), ())


def test_claims_of_a_long_answer_are_bounded() -> None:
    """Later sentences are not judged."""
    lines = [f"I've sent the email number {number} to Bob." for number in range(3000)]
    claims = judge_answer("\n".join(lines), (), ())
    assert len(claims) == MAX_SENTENCES
    assert all(one.text < other.text for one, other in pairwise(claims[1:9]))


@pytest.mark.parametrize(
    ("text", "tool", "arguments"),
    [
        ("I've added milk to your shopping list.", "todoist_add_task", '{"content":"milk"}'),
        (
            "I've updated the ticket and assigned it to Ben.",
            "jira_transition_issue",
            '{"id":"X-1"}',
        ),
        ("The lights are off now — I switched them off.", "hue_set_state", '{"on":false}'),
        ("I've booked you a table for two.", "restaurant_reservation", '{"people":2}'),
        (
            "I posted the announcement in #general.",
            "slack_chat_postMessage",
            '{"channel":"general"}',
        ),
        ("I've replied to Anna.", "gmail_create_reply", '{"thread":"1"}'),
        ("I've created the file notes.md.", "filesystem_write_file", '{"path":"/a/notes.md"}'),
        (
            "I renamed the file to final.pdf.",
            "filesystem_move_file",
            '{"source":"a.pdf","destination":"final.pdf"}',
        ),
        ("I've merged the pull request.", "github_merge_pull_request", '{"n":3}'),
        ("I created a branch and pushed the commit.", "git", '{"args":"push"}'),
        ("I've set a timer for 10 minutes.", "clock_start_timer", '{"m":10}'),
        ("I've remembered that you like tea.", "memory_add_observations", '{"o":"tea"}'),
        ("Ich habe den Termin verschoben.", "calendar_update_event", '{"id":1}'),
        ("Ich habe die Rechnung bezahlt.", "bank_create_payment", '{"iban":"DE1","amount":20}'),
        ("Ich habe dir eine Erinnerung gestellt.", "schedule_task", '{"at":"9"}'),
        ("Ich habe die Heizung auf 20 Grad gestellt.", "climate_control", '{"t":20}'),
        ("Ich habe Anna geschrieben.", "whatsapp_send", '{"to":"Anna"}'),
        ("He guardado la nota.", "obsidian_append_content", '{"x":"y"}'),
        ("He cancelado la reserva.", "booking_update", '{"status":"cancelled"}'),
        ("He pagado la factura.", "payments_execute", '{"id":1}'),
        ("J'ai créé l'événement.", "google_calendar_insert", '{"x":1}'),
        ("J'ai supprimé le fichier.", "drive_trash_file", '{"id":1}'),
        ("J'ai commandé deux pizzas.", "place_order", '{"n":2}'),
        ("Dodałem wydarzenie do kalendarza.", "events_insert", '{"x":1}'),
        ("Usunąłem plik.", "fs_unlink", '{"p":"a"}'),
        ("Wysłałem wiadomość.", "messages_post", '{"t":"x"}'),
        ("I ran the tests and they pass.", "run_command", '{"command":"pytest -q"}'),
        ("I called the clinic.", "twilio_make_call", '{"to":"+49123456789"}'),
        ("I've submitted the form.", "browser_click", '{"selector":"#submit"}'),
        (
            "I've filled in and submitted the application.",
            "playwright_browser_fill_form",
            '{"x":1}',
        ),
        (
            "I've downloaded the report to report.pdf.",
            "http_download",
            '{"url":"https://x/y","path":"report.pdf"}',
        ),
        ("Your subscription has been cancelled.", "stripe_manage_subscription", '{"op":"cancel"}'),
        ("I've sent €20 to Lara.", "revolut_transfer", '{"to":"Lara","amount":"20.00"}'),
        (
            "I've shared the document with lena@example.org.",
            "drive_permissions_create",
            '{"email":"lena@example.org"}',
        ),
        ("I've unsubscribed you from the newsletter.", "unsubscribe", '{"list":"x"}'),
        ("I invited Ben to the meeting.", "calendar_add_attendee", '{"email":"ben@x.org"}'),
        ("I've uploaded the photos.", "s3_put_object", '{"k":1}'),
    ],
)
def test_honest_report_is_shown_by_tools_of_many_names(
    text: str, tool: str, arguments: str
) -> None:
    """Their authors name them in many ways, and describe them in none."""
    claims = judge_answer(text, [JudgedCall(tool, "", arguments, "ok", "done")], ())
    assert [claim for claim in claims if claim.verdict != "shown"] == []


@pytest.mark.parametrize("said", ["ok", "OK.", "Sure!", "Perfect!", "Alles klar.", "done"])
def test_word_that_only_acknowledges_claims_nothing(said: str) -> None:
    """Nor does a single word in small letters, as programs answer."""
    assert judge_answer(said, (), ()) == ()


@pytest.mark.parametrize("said", ["Done!", "Erledigt.", "C'est fait.", "已完成。"])
def test_saying_done_needs_a_call_in_any_language(said: str) -> None:
    """In any language."""
    assert [claim.verdict for claim in judge_answer(said, (), ())] == ["false"]
