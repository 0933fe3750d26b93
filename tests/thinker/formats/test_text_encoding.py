"""Text is read in the encoding in which it was written, even when nobody says which."""

import os

import pytest

from thinker.formats.text_encoding import decode_bytes, find_encoding

CHINESE = "姓名,城市,金额\n张三,北京,100\n李四,上海,250\n"
GERMAN = "Name;Größe;Preis\nMüller;12;5,50 €\n"


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("utf-8", GERMAN),
        ("utf-8-sig", GERMAN),
        ("utf-16", GERMAN),
        ("utf-16-le", GERMAN),
        ("utf-16-be", GERMAN),
        ("utf-16-le", CHINESE),
        ("utf-32", GERMAN),
        ("utf-32-le", GERMAN),
        ("utf-32-be", GERMAN),
        ("cp1252", GERMAN),
        ("cp1252", "Bonjour, voilà l'été déjà passé à Besançon\n"),
        ("iso8859-15", GERMAN),
        ("gbk", CHINESE),
        ("gb18030", CHINESE),
        ("big5", "姓名,城市\n王小明,臺北\n陳大文,高雄\n"),
        ("shift_jis", "名前,市\n山田太郎,東京\n鈴木,大阪\n"),
        ("euc_jp", "名前,市\n山田太郎,東京\n鈴木,大阪\n"),
        ("iso2022_jp", "名前,市\n山田太郎,東京\n"),
        ("euc_kr", "이름,도시\n김철수,서울\n박영희,부산\n"),
        ("koi8_r", "Имя;Город\nИван;Москва\nМария;Казань\n"),  # noqa: RUF001 - Russian
        ("cp1251", "Имя;Город\nИван;Москва\nМария;Казань\n"),  # noqa: RUF001 - Russian
        ("cp866", "Имя;Город\nИван;Москва\n"),  # noqa: RUF001 - Russian
        ("cp1250", "Imię;Miasto\nŁukasz;Łódź\nŚwięta;Kraków\n"),
        ("iso8859-2", "Imię;Miasto\nŁukasz;Łódź\nMałgorzata;Kraków\n"),
        ("cp1253", "Όνομα;Πόλη\nΓιώργος;Αθήνα\n"),  # noqa: RUF001 - Greek
        ("cp1254", "İsim;Şehir\nOğuz;İstanbul\nÇağrı;Muğla\n"),  # noqa: RUF001 - Turkish
        ("cp1255", "שם;עיר\nדוד;ירושלים\n"),  # noqa: RUF001 - Hebrew
        ("cp1256", "الاسم;المدينة\nمحمد;القاهرة\n"),
        ("cp874", "ชื่อ;เมือง\nสมชาย;กรุงเทพ\n"),
    ],
)
def test_text_is_read_in_its_own_encoding(encoding: str, text: str) -> None:
    """A short table is enough; a long text takes no longer."""
    assert decode_bytes(text.encode(encoding)) == text
    long = "x" * 100_000 + text
    assert decode_bytes(long.encode(encoding)) == long


@pytest.mark.parametrize(
    ("data", "declared", "text"),
    [
        ("Größe".encode(), "latin-1", "Größe"),
        ("Größe".encode("cp1252"), "utf-8", "Größe"),
        ("Größe".encode("cp1252"), "no-such-encoding", "Größe"),
        ("Größe".encode("cp1252"), "hex", "Größe"),
        ("“Größe”".encode("cp1252"), "iso-8859-1", "“Größe”"),
        ("Привет".encode("koi8_r"), "KOI8-R", "Привет"),
        ("Привет".encode("cp1251"), "windows-1251", "Привет"),
        ("张三".encode("gb18030"), "GB2312", "张三"),
    ],
)
def test_sender_may_name_the_encoding_rightly_or_not(data: bytes, declared: str, text: str) -> None:
    """UTF-8 is recognized; what does not fit is not believed."""
    assert decode_bytes(data, declared) == text


def test_text_that_was_cut_within_a_letter_is_read() -> None:
    """What is missing is marked."""
    text = "张三李四" * 9
    assert decode_bytes(text.encode("gbk")[:-1]) == text[:-1] + "\ufffd"


@pytest.mark.parametrize(
    "data", [b"PK\x03\x04\x14\x00\x00\x00", b"\x7fELF\x02\x01\x01", b"a\0b", bytes(range(256)) * 4]
)
def test_what_is_no_text_is_not_read(data: bytes) -> None:
    """Programs, archives and noise."""
    assert decode_bytes(data) is None
    assert decode_bytes(os.urandom(4096)) is None


def test_names_of_encodings_are_found() -> None:
    """As browsers and mail programs write them; others are none."""
    assert find_encoding("windows-874") == "cp874"
    assert find_encoding("GBK") == "gb18030"
    assert [find_encoding(name) for name in ("", "nonsense", "base64", "idna")] == [""] * 4
