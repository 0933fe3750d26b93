"""Messages are found by other forms of their words, in many languages, and for many questions."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes.journal import job, opened
from fakes.memory import WORK
from fakes.message_search import search_messages

from orchestrator.extensions.memory import message_index
from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import sessions
from thinker.protocol.messages import UserMessage

MINUTE, DAY = 60_000, 86_400_000
FORMS = (
    ("Das Haus ist rot", "Häuser"),
    ("Ich höre gern Musik", "Musikschule"),
    ("Sie geht in die Musikschule", "Musik"),
    ("Mon cheval est noir", "chevaux"),
    ("Il gatto dorme", "gatti"),
    ("Evler çok güzel", "ev"),
    ("Bu ev güzel", "evler"),
    ("Het kind speelt", "kinderen"),
    ("我喜欢喝绿茶", "绿茶"),
    ("コーヒーが好きです", "コーヒー"),
    ("قرأت الكتاب أمس", "كتاب"),
    ("Кошка спит", "кошки"),
    ("She was painting", "paint"),
    ("Los perros corren", "perro"),
    ("Kupiłem książkę", "książki"),
    ("Eu comprei livros", "livro"),
    ("Talo on iso", "talossa"),
    ("Vettem egy könyvet", "könyv"),
    ("한국어를 공부해요", "한국어"),
)
TALK = (  # own lines; a day lies between two groups
    (
        "My sister Ida got a puppy, she calls him Bruno",
        "What does he eat?",
        "Mostly rice with chicken, the vet said so",
        "We moved to Lisbon on the third of May",
        "The flat has a tiny balcony",
        "I sold the old car, the blue one",
    ),
    (
        "Meine Tochter Lena lernt jetzt Geige",
        "Jeden Dienstag hat sie Unterricht bei Frau Brandt",
        "Das Klavier haben wir verkauft",
        "Im Sommer fahren wir an die Ostsee",
        "Das Ferienhaus ist schon gebucht",
        "Mein Chef hat die Beförderung bestätigt",
    ),
    (
        "Hier j'ai commencé un cours de poterie",
        "La prof s'appelle Solange",
        "Mon frère Luc habite maintenant à Nantes",
        "Il a trouvé un travail dans une boulangerie",
        "Le mariage aura lieu en septembre",
        "Nous avons choisi un gâteau au citron",
    ),
    (
        "Mi abuela cumple noventa años en marzo",
        "Queremos regalarle un álbum de fotos",
        "El médico me ha prohibido la sal",
        "Ahora camino cinco kilómetros cada mañana",
        "Perdí las llaves del garaje",
        "El vecino tiene una copia",
    ),
    (
        "Ho comprato una bicicletta elettrica",
        "La batteria dura ottanta chilometri",
        "Giulia viene a cena sabato",
        "È allergica alle noci",
        "Il corso di russo comincia a ottobre",
        "Ho cambiato numero di telefono",
    ),
    (
        "The dentist appointment is on Friday at nine",
        "No, they moved it to Monday",
        "Grandpa's recipe needs two spoons of honey",
        "I finished the marathon in four hours",
        "My knee still hurts",
        "The new password manager works fine",
        "The plumber wants eighty euros",
        "Our cat Minka is afraid of thunder",
        "She hides under the bed then",
        "I prefer window seats on trains",
    ),
)
QUESTIONS = (
    ("What is the name of Ida's dog, her puppy?", "Bruno"),
    ("When did we move to Lisbon?", "third of May"),
    ("What became of the car?", "blue one"),
    ("Welches Instrument lernt Lena?", "Geige"),
    ("Wo ist das Ferienhaus, das wir im Sommer haben?", "Ferienhaus"),
    ("Wurde die Beförderung bestätigt?", "Chef"),
    ("Où habite mon frère Luc ?", "Nantes"),
    ("Quand est le mariage ?", "septembre"),
    ("¿Cuántos años cumple la abuela?", "noventa"),
    ("¿Quién tiene una copia de las llaves?", "vecino"),
    ("Chi viene a cena?", "Giulia"),
    ("Quanto dura la batteria della bicicletta?", "ottanta"),
    ("Who is afraid of thunder?", "Minka"),
    ("How many spoons of honey does the recipe need?", "two spoons"),
    ("Where do I like to sit on trains?", "window seats"),
)


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    """An empty journal."""
    with opened(tmp_path) as connection:
        yield connection


def say(db: Database, *texts: str, at: int = 1) -> None:
    """Store and index messages of one conversation, a minute apart."""
    with job(db):
        session = sessions.open_session(db, "work", "c", at)
        for number, text in enumerate(texts):
            message = UserMessage(content=text)
            sessions.append_messages(db, session, "t1", [message], at + number * MINUTE)
        message_index.index_new_messages(db)


@pytest.mark.parametrize(("text", "query"), FORMS, ids=[query for _, query in FORMS])
def test_message_is_found_by_another_form_of_its_word(db: Database, text: str, query: str) -> None:
    """An ending, a part of a compound, a word of a script without spaces."""
    say(db, "The weather is fine today", text)
    assert text in [one.text for one in search_messages(db, WORK, query, 3)]


def test_questions_find_what_answers_them(db: Database) -> None:
    """Among the best three messages, in five languages."""
    for day, texts in enumerate(TALK):
        say(db, *texts, at=1 + day * DAY)
    missed = [
        question
        for question, answer in QUESTIONS
        if not any(answer in one.text for one in search_messages(db, WORK, question, 3))
    ]
    assert missed == []
