"""A mail counts as its sender's only if the receiving server says so."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.extensions.email.sender_check import TRUST, check_sender_domain

SERVER = "mx.bots.example"


def passes(results: str, *below: str) -> bool:
    """Whether what the server wrote verifies a mail from a.example."""
    fields = [f"{SERVER}; {results}", *below]
    return check_sender_domain(fields, SERVER, "a.example") is None


@pytest.mark.parametrize(
    "results",
    [
        "dmarc=pass header.from=a.example",
        "spf=fail; DMARC=pass (p=none; dis=none) header.from=A.example",
        "dkim=pass header.i=@a.example header.s=s1",
        "dkim=pass header.d=a.example; dmarc=none header.from=a.example",
        "dkim=fail header.d=a.example; dkim=pass header.d=a.example",
        "spf=pass smtp.mailfrom=bounce@a.example",
        "spf=pass smtp.mailfrom=a.example",
        'dmarc=pass reason="so; it (is)" header.from=a.example',
    ],
)
def test_a_pass_for_the_domain_verifies(results: str) -> None:
    """By its policy, or by a signature or the sending server where it has none."""
    assert passes(results)


@pytest.mark.parametrize(
    "results",
    [
        "none",
        "",
        "dmarc=pass header.from=b.example",
        "dmarc=pass",
        "dmarc=fail header.from=a.example; dkim=pass header.d=a.example",
        "dmarc=fail header.from=a.example; dmarc=pass header.from=a.example",
        "dkim=pass header.d=example",
        "dkim=pass header.d=evil-a.example",
        "dkim=pass header.d=x.a.example",
        "spf=pass smtp.helo=a.example",
        "spf=pass (dmarc=pass header.from=a.example) smtp.mailfrom=x@b.example",
        'spf=pass smtp.mailfrom="x;dmarc=pass header.from=a.example"@b.example',
        r'spf=pass smtp.mailfrom="x\";dmarc=pass header.from=a.example"@b.example',
        "spf=pass smtp.mailfrom=x@b.example smtp.mailfrom=a.example",
        "dmarc=pass (unfinished header.from=a.example",
        'dmarc=pass header.from=a.example; x="',
        "dmarc=pass header.from=a.example" + " " * 30_000,
    ],
)
def test_nothing_else_verifies(results: str) -> None:
    """Also not what a stranger wrote into a name, a comment or quotes."""
    assert not passes(results)


def test_only_the_topmost_field_of_the_server_counts() -> None:
    """A mail may bring others along."""
    forged = f"{SERVER}; dmarc=pass header.from=a.example"
    assert not passes("dmarc=fail header.from=a.example", forged)
    assert not passes("none", forged)
    other = ["mx.evil.example; dmarc=pass header.from=a.example"]
    assert check_sender_domain([*other, forged], SERVER, "a.example") is None
    assert "see verifiedBy" in str(check_sender_domain(other, SERVER, "a.example"))
    assert check_sender_domain([], SERVER, "a.example") is not None


def test_a_closed_server_may_be_trusted() -> None:
    """Where no stranger can send mail."""
    assert check_sender_domain([], TRUST, "a.example") is None


@given(st.text(st.sampled_from('ab=;()"\\ .@/\0'), max_size=60))
def test_no_field_is_an_error_or_a_pass_by_chance(text: str) -> None:
    """Whatever stands in it."""
    assert not passes(text)
