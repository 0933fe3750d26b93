"""Which addresses pages may come from."""

import pytest

from orchestrator.jail_broker.web_addresses import is_public


@pytest.mark.parametrize(
    "address",
    ["93.184.216.34", "1.1.1.1", "2606:4700:4700::1111", "64:ff9b::101:101", "::ffff:1.1.1.1"],
)
def test_address_of_the_internet_is_public(address: str) -> None:
    """Also where IPv4 is reached through IPv6."""
    assert is_public(address)


@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "127.255.0.1", "0.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1"),
        *("169.254.169.254", "100.64.0.1", "100.100.100.200", "192.0.0.192", "198.18.0.1"),
        *("192.0.2.1", "224.0.0.1", "239.255.255.250", "240.0.0.1", "255.255.255.255"),
        *("::", "::1", "fe80::1", "fe80::1%eth0", "fc00::1", "fd00:ec2::254", "fec0::1"),
        *("ff02::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::127.0.0.1", "::ffff:0:127.0.0.1"),
        *("64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::1", "2002:7f00:1::", "2001:0::1"),
        *("2001:db8::1", "100::1", "3fff::1", "5f00::1", "not an address", ""),
    ],
)
def test_every_other_address_is_not(address: str) -> None:
    """Whatever kind it is, and however it is written."""
    assert not is_public(address)
