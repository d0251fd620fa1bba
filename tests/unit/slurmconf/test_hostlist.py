"""Hostlists mean what they mean to scontrol, and nothing absurd is expanded."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from slurmery.slurmconf.hostlist import MAX_HOSTS, HostlistError, compress, expand, natural

# As printed by `scontrol show hostnames` of Slurm 24.11.5 and 26.05.5.
HOSTNAMES = {
    "n[1-3]": "n1 n2 n3",
    "n[01-03]": "n01 n02 n03",
    "n[1-3,7]": "n1 n2 n3 n7",
    "rack[1-2]n[01-02]": "rack1n01 rack1n02 rack2n01 rack2n02",
    "a,b[1-2],c": "a b1 b2 c",
    "n[1-2]-ib": "n1-ib n2-ib",
    "n[1-2]x[3-4]y": "n1x3y n1x4y n2x3y n2x4y",
    "n[001-2]": "n001 n002",
    "n[9-11]": "n9 n10 n11",
    "n[09-11]": "n09 n10 n11",
    "[1-3]": "1 2 3",
    "a,,b": "a b",
    " a , b": "a b",
    "n[1-2],n[1-2]": "n1 n2 n1 n2",
    "n[01,1]": "n01 n1",
    "n-1,n-2": "n-1 n-2",
    "x0001": "x0001",
    "": "",
}

# As printed by `scontrol show hostlist` of the same.
HOSTLISTS = {
    "n1,n2,n3": "n[1-3]",
    "n3,n1,n2": "n[3,1-2]",
    "n1,n1": "n[1,1]",
    "n01,n02": "n[01-02]",
    "n9,n10,n11": "n[9-11]",
    "n09,n10": "n[09-10]",
    "n1,n01": "n[1,01]",
    "n0,n00": "n[0,00]",
    "n001,n0002": "n[001,0002]",
    "n099,n100": "n[099-100]",
    "n99,n100": "n[99-100]",
    "n10,n9": "n[10,9]",
    "1,2,3": "[1-3]",
    "a,b1,b2": "a,b[1-2]",
    "n1,a,n2": "n1,a,n2",
    "n1-ib,n2-ib": "n1-ib,n2-ib",
    "n1,n2,n4,n5,n6,n8": "n[1-2,4-6,8]",
    "rack1n01,rack1n02,rack2n01,rack2n02": "rack1n[01-02],rack2n[01-02]",
}

# As printed by `scontrol show hostlistsorted` of the same.
SORTED = {
    "n3,n1,n2": "n[1-3]",
    "n1,a,n2": "a,n[1-2]",
    "n10,n9,b": "b,n[9-10]",
    "n2,n01,n1,m7": "m7,n[1-2,01]",
}

names = st.from_regex(r"[a-z]{0,3}(-?[0-9]{1,4}[a-z]{0,2}){0,2}", fullmatch=True).filter(bool)


@pytest.mark.parametrize("text", HOSTNAMES)
def test_expands_like_scontrol(text: str) -> None:
    assert " ".join(expand(text)) == HOSTNAMES[text]


@pytest.mark.parametrize("text", HOSTLISTS)
def test_compresses_like_scontrol(text: str) -> None:
    assert compress(text.split(",")) == HOSTLISTS[text]


@pytest.mark.parametrize("text", SORTED)
def test_sorts_like_scontrol(text: str) -> None:
    assert compress(sorted(text.split(","), key=natural)) == SORTED[text]


@pytest.mark.parametrize(
    "text",
    ["n[3-1]", "n[]", "n[a-b]", "n[1-2", "n]1", "n[1-2,]", "n[[1-2]]", "n[1-3:2]", "n[1--2]", "n[1 - 2]"],
)
def test_refuses_what_is_not_a_hostlist(text: str) -> None:
    with pytest.raises(HostlistError):
        expand(text)


@pytest.mark.parametrize(
    "text",
    ["n[1-70000]", "n[0-999999999999999999]", "n[1-300]m[1-300]", "a[1-60000],b[1-60000]", "[0-9]" * 40],
)
def test_refuses_absurd_expansions_at_once(text: str) -> None:
    with pytest.raises(HostlistError, match="more than 65536 hosts"):
        expand(text)


def test_largest_allowed_list_goes_both_ways() -> None:
    text = f"n[1-{MAX_HOSTS}]"
    assert compress(expand(text)) == text


@pytest.mark.parametrize("name", ["", "a,b", "a[1]", "a b", "a\nNodeName=evil"])
def test_a_name_that_would_be_read_as_something_else_is_not_compressed(name: str) -> None:
    with pytest.raises(HostlistError):
        compress([name])


@settings(deadline=None)
@given(st.lists(names))
@example(["n", "n1", "n2"])
@example(["n18446744073709551615", "n18446744073709551616"])
@example(["n٣", "n٤"])
def test_expanding_a_compressed_list_gives_the_same_hosts(hosts: list[str]) -> None:
    assert list(expand(compress(hosts))) == hosts


@settings(deadline=None)
@given(st.lists(names, unique=True).flatmap(lambda hosts: st.tuples(st.just(hosts), st.permutations(hosts))))
def test_the_canonical_spelling_does_not_depend_on_the_order(orders: tuple[list[str], list[str]]) -> None:
    hosts, others = orders
    canonical = compress(sorted(hosts, key=natural))
    assert canonical == compress(sorted(others, key=natural))
    assert sorted(expand(canonical)) == sorted(hosts)


@settings(deadline=None)
@given(st.text(alphabet="an[]-,0129 ", max_size=20))
def test_any_text_is_a_hostlist_or_a_hostlist_error(text: str) -> None:
    try:
        hosts = expand(text)
    except HostlistError:
        return
    assert list(expand(compress(hosts))) == list(hosts)
