"""topology.conf: every worker has its place, and one line has them all."""

import pytest

from slurmery.nebius.config.topology import Place, blocks, tree


def at(worker: str, *path: str, fabric: str = "") -> Place:
    """A worker below its switches, from the leaf upwards."""
    return Place(worker, dict(enumerate(path, start=1)), fabric)


def lines(*places: Place, always_root: bool = False) -> list[str]:
    return tree(places, always_root=always_root).splitlines()


def test_two_tiers_with_a_shared_leaf() -> None:
    places = (at("w-0", "leaf0", "spine0"), at("w-1", "leaf0", "spine1"), at("w-2", "leaf1", "spine2"))
    assert lines(*places) == [
        "SwitchName=leaf0 Nodes=w-[0-1]",
        "SwitchName=leaf1 Nodes=w-2",
        "SwitchName=root Switches=spine[0-2]",
        "SwitchName=spine0 Switches=leaf0",
        "SwitchName=spine1 Switches=leaf0",
        "SwitchName=spine2 Switches=leaf1",
    ]


def test_four_tiers_render_every_level() -> None:
    assert lines(at("w-0", "a", "b", "c", "d")) == [
        "SwitchName=a Nodes=w-0",
        "SwitchName=b Switches=a",
        "SwitchName=c Switches=b",
        "SwitchName=d Switches=c",
    ]


def test_a_worker_that_does_not_run_is_unknown_and_below_root() -> None:
    assert lines(at("w-0", "leaf"), at("w-1")) == [
        "SwitchName=leaf Nodes=w-0",
        "SwitchName=root Switches=leaf,unknown",
        "SwitchName=unknown Nodes=w-1",
    ]


@pytest.mark.parametrize(
    "place", [Place("w-0", {2: "spine"}), Place("w-0", {1: "leaf", 3: "core"}), Place("w-0", {1: "", 2: "a"})]
)
def test_a_gap_in_the_path_is_unknown(place: Place) -> None:
    assert lines(place) == ["SwitchName=unknown Nodes=w-0"]
    assert lines(place, always_root=True) == [
        "SwitchName=root Switches=unknown",
        "SwitchName=unknown Nodes=w-0",
    ]


def test_a_shorter_path_hangs_below_root() -> None:
    assert "SwitchName=root Switches=lone,spine" in lines(at("w-0", "leaf", "spine"), at("w-1", "lone"))


def test_one_top_switch_needs_no_root_unless_always() -> None:
    assert not any("root" in line for line in lines(at("w-0", "leaf", "spine")))
    assert "SwitchName=root Switches=spine" in lines(at("w-0", "leaf", "spine"), always_root=True)


@pytest.mark.parametrize("always_root", [True, False])
def test_nothing_makes_no_lines(always_root: bool) -> None:
    assert tree((), always_root=always_root) == ""
    assert blocks((), 18) == ""


def test_every_fabric_has_its_own_root_and_unknown() -> None:
    places = (at("a-0", "l0", "s0", fabric="fa"), at("a-1", fabric="fa"), at("b-0", fabric="fb"), at("c-0"))
    assert lines(*places, always_root=True) == [
        "SwitchName=fa Switches=fa.unknown,s0",
        "SwitchName=fa.unknown Nodes=a-1",
        "SwitchName=fb Switches=fb.unknown",
        "SwitchName=fb.unknown Nodes=b-0",
        "SwitchName=l0 Nodes=a-0",
        "SwitchName=root Switches=unknown",
        "SwitchName=s0 Switches=l0",
        "SwitchName=unknown Nodes=c-0",
    ]


def test_ranges_are_compressed() -> None:
    places = (at("w-0", "leaf-0"), at("w-1", "leaf-1"), at("w-2", "leaf-cpu-0"), at("w-3", "leaf-cpu-2"))
    found = lines(*places, at("w-10", "leafkek1"), always_root=True)
    assert "SwitchName=root Switches=leaf-[0-1],leaf-cpu-[0,2],leafkek1" in found


def test_blocks() -> None:
    places = [Place(f"w-{index}", {0: f"nvl{index // 2}"}) for index in range(4)]
    assert blocks([*places, Place("w-4", {1: "leaf"}, "fa"), Place("w-5")], 16).splitlines() == [
        "BlockName=fa.unknown Nodes=w-4",
        "BlockName=nvl0 Nodes=w-[0-1]",
        "BlockName=nvl1 Nodes=w-[2-3]",
        "BlockName=unknown Nodes=w-5",
        "BlockSizes=16",
    ]


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("sw" + "1" * 19, "sw" + "1" * 19 + "_"),
        ("sw" + "1" * 18, "sw" + "1" * 18),
        ("deadbeef", "deadbeef"),
    ],
)
def test_a_long_number_does_not_look_like_one(name: str, written: str) -> None:
    assert lines(at("w-0", name, "top")) == [
        f"SwitchName={written} Nodes=w-0",
        f"SwitchName=top Switches={written}",
    ]


def test_ten_thousand_workers_make_a_small_file() -> None:
    places = [
        at(f"worker-{index}", f"leaf-{index // 32}", f"spine-{index // 512}") for index in range(10_000)
    ]
    text = tree(places, always_root=False)
    assert len(text) < 64 * 1024
    assert text == tree(reversed(places), always_root=False)


def test_workers_that_start_make_one_line() -> None:
    assert lines(*(at(f"worker-{index}") for index in range(10_000))) == [
        "SwitchName=unknown Nodes=worker-[0-9999]"
    ]
