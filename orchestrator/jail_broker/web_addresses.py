"""Decide which addresses are on the public internet; pages may come from no others.

Where: are private addresses kept from fetched pages?
"""

import ipaddress
from ipaddress import IPv4Address, IPv6Address

GLOBAL_V6 = ipaddress.ip_network("2000::/3")  # all that is assigned for the internet
NAT64 = ipaddress.ip_network("64:ff9b::/96")  # IPv4 addresses in networks that have only IPv6
# Taken for public by older versions of Python, besides addresses that stand for one of IPv4.
NOT_PUBLIC_V4 = (
    ipaddress.ip_network("192.0.0.0/24"),  # also the metadata service of a cloud
    ipaddress.ip_network("192.88.99.0/24"),  # relays of 6to4
)
NOT_PUBLIC_V6 = (
    ipaddress.ip_network("2001::/23"),  # Teredo and other protocols
    ipaddress.ip_network("2002::/16"),  # 6to4
    ipaddress.ip_network("3fff::/20"),  # documentation
)


def is_public(text: str) -> bool:
    """Return whether an address belongs to a machine on the internet.

    Loopback, private, link-local (with the metadata service of clouds), shared (CGNAT), multicast
    and reserved addresses do not, nor IPv6 addresses that stand for such an IPv4 address.
    """
    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return False
    if isinstance(address, IPv6Address):
        return _is_public_v6(address)
    return _is_public_v4(address)


def _is_public_v4(address: IPv4Address) -> bool:
    special = any(address in network for network in NOT_PUBLIC_V4)
    return address.is_global and not (address.is_multicast or address.is_reserved or special)


def _is_public_v6(address: IPv6Address) -> bool:
    if address.ipv4_mapped is not None:
        return _is_public_v4(address.ipv4_mapped)
    if address in NAT64:
        return _is_public_v4(IPv4Address(int(address) & 0xFFFFFFFF))
    special = any(address in network for network in NOT_PUBLIC_V6)
    return address in GLOBAL_V6 and address.is_global and not special
