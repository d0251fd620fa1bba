"""Which proxy leads to a server, by the usual environment variables.

Python's own reading of NO_PROXY knows no address ranges, and clusters are full of
`NO_PROXY=10.0.0.0/8`: a pod would send its API traffic to the company's web proxy.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from urllib.parse import urlsplit


def proxy_for(server: str, environ: Mapping[str, str]) -> str | None:
    """The proxy URL for this server, if there is one and it is not excepted."""
    url = urlsplit(server)
    proxy = _variable(environ, f"{url.scheme}_proxy")
    if not proxy or _excepted(url.hostname or "", url.port, _variable(environ, "no_proxy")):
        return None
    return proxy if "://" in proxy else f"http://{proxy}"


def _variable(environ: Mapping[str, str], name: str) -> str:
    return environ.get(name.upper()) or environ.get(name) or ""


def _excepted(host: str, port: int | None, no_proxy: str) -> bool:
    address = _address(host)
    if host == "localhost" or (address is not None and address.is_loopback):
        return True
    for entry in filter(None, (part.strip().lower().removeprefix("*.") for part in no_proxy.split(","))):
        if entry in ("*", host, f"{host}:{port}"):
            return True
        if address is not None and "/" in entry and _inside(address, entry):
            return True
        if address is None and host.endswith(entry if entry.startswith(".") else f".{entry}"):
            return True
    return False


_Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def _address(host: str) -> _Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def _inside(address: _Address, text: str) -> bool:
    try:
        return address in ipaddress.ip_network(text, strict=False)
    except ValueError:
        return False
