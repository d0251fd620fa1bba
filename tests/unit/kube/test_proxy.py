"""Which servers are reached through a proxy."""

import pytest

from slurmery.kube.proxy import proxy_for

PROXY = "http://proxy.example.com:3128"


@pytest.mark.parametrize(
    ("server", "environ", "expected"),
    [
        ("https://10.96.0.1", {}, None),
        ("https://10.96.0.1", {"HTTPS_PROXY": PROXY}, PROXY),
        ("https://10.96.0.1", {"https_proxy": "proxy.example.com:3128"}, PROXY),
        ("https://10.96.0.1", {"HTTP_PROXY": PROXY}, None),
        ("http://10.96.0.1", {"HTTP_PROXY": PROXY}, PROXY),
        ("https://127.0.0.1:6443", {"HTTPS_PROXY": PROXY}, None),
        ("https://[::1]:6443", {"HTTPS_PROXY": PROXY}, None),
        ("https://localhost:6443", {"HTTPS_PROXY": PROXY}, None),
    ],
)
def test_the_usual_variables(server: str, environ: dict[str, str], expected: str | None) -> None:
    assert proxy_for(server, environ) == expected


@pytest.mark.parametrize(
    ("host", "no_proxy", "direct"),
    [
        ("10.96.0.1", "10.0.0.0/8", True),
        ("10.96.0.1", "example.com, 10.96.0.0/12 ", True),
        ("11.0.0.1", "10.0.0.0/8", False),
        ("[fd00::1]", "fd00::/8", True),
        ("10.96.0.1", "fd00::/8,nonsense/8,", False),
        ("10.96.0.1", "*", True),
        ("10.96.0.1", "10.96.0.1", True),
        ("10.96.0.1:6443", "10.96.0.1:6443", True),
        ("10.96.0.1", "96.0.1", False),
        ("kube.example.com", "example.com", True),
        ("kube.example.com", ".example.com", True),
        ("kube.example.com", "*.example.com", True),
        ("KUBE.example.com", "kube.EXAMPLE.com", True),
        ("kubeexample.com", "example.com", False),
    ],
)
def test_exceptions(host: str, no_proxy: str, direct: bool) -> None:
    found = proxy_for(f"https://{host}", {"HTTPS_PROXY": PROXY, "NO_PROXY": no_proxy})
    assert (found is None) is direct
