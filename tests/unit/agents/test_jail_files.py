import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slurmery.agents.jail.files import Jail, RefusedError
from slurmery.agents.jail.payload import File, PayloadError, payload
from slurmery.api.nebius.jailedconfig import ConfigItem, ConfigMapRef, JailedConfigSpec

CONF = File("/etc/slurm/slurm.conf", b"ClusterName=orion\n", 0o640)


def test_a_file_is_written_with_its_folders_and_mode(tmp_path: Path) -> None:
    jail = Jail(tmp_path)
    assert not jail.holds(CONF)
    jail.write(CONF)
    written = tmp_path / "etc/slurm/slurm.conf"
    assert written.read_bytes() == CONF.content
    assert stat.S_IMODE(written.stat().st_mode) == 0o640
    assert jail.holds(CONF)


@pytest.mark.parametrize("change", [{"content": b"ClusterName=other\n"}, {"mode": 0o600}])
def test_another_content_or_mode_is_a_difference(tmp_path: Path, change: dict[str, object]) -> None:
    jail = Jail(tmp_path)
    jail.write(CONF)
    assert not jail.holds(File(**{**vars(CONF), **change}))


def test_a_reader_keeps_the_whole_old_file_and_no_draft_stays(tmp_path: Path) -> None:
    jail = Jail(tmp_path)
    jail.write(CONF)
    with (tmp_path / "etc/slurm/slurm.conf").open("rb") as reader:
        jail.write(File(CONF.path, b"new", 0o644))
        assert reader.read() == CONF.content
    assert [each.name for each in (tmp_path / "etc/slurm").iterdir()] == ["slurm.conf"]


def test_a_link_in_the_path_does_not_lead_out_of_the_jail(tmp_path: Path) -> None:
    outside, inside = tmp_path / "outside", tmp_path / "jail"
    outside.mkdir()
    inside.mkdir()
    (inside / "etc").symlink_to(outside)
    with pytest.raises(RefusedError, match="/etc in the jail"):
        Jail(inside).write(CONF)
    assert not list(outside.iterdir())


def test_a_link_in_place_of_the_file_is_neither_followed_nor_replaced(tmp_path: Path) -> None:
    secret = tmp_path / "shadow"
    secret.write_bytes(CONF.content)
    inside = tmp_path / "jail/etc/slurm"
    inside.mkdir(parents=True)
    (inside / "slurm.conf").symlink_to(secret)
    jail = Jail(tmp_path / "jail")
    assert not jail.holds(CONF)
    with pytest.raises(RefusedError, match="no plain file"):
        jail.write(File(CONF.path, b"new", 0o644))
    assert secret.read_bytes() == CONF.content


def spec(*items: ConfigItem, default_mode: int | None = None) -> JailedConfigSpec:
    return JailedConfigSpec(config_map=ConfigMapRef(name="files"), items=items, default_mode=default_mode)


def test_modes_are_the_items_the_defaults_or_0644() -> None:
    items = (ConfigItem(key="a", path="/a", mode=0o755), ConfigItem(key="b", path="/b"))
    content = {"a": b"", "b": b""}
    assert [file.mode for file in payload(spec(*items), content)] == [0o755, 0o644]
    assert [file.mode for file in payload(spec(*items, default_mode=0o600), content)] == [0o755, 0o600]


@pytest.mark.parametrize(
    ("items", "words"),
    [
        ([ConfigItem(key="z", path="/z")], "no key z"),
        ([ConfigItem(key="a", path="/x"), ConfigItem(key="b", path="/x")], "asked for twice"),
        ([], "a is no absolute path"),
    ],
)
def test_what_cannot_be_written_is_said_in_words(items: list[ConfigItem], words: str) -> None:
    with pytest.raises(PayloadError, match=words):
        payload(spec(*items), {"a": b"", "b": b""})


def test_an_empty_config_map_writes_nothing() -> None:
    assert payload(spec(), {}) == ()


@given(st.text(alphabet="/.ab\0", max_size=12))
def test_no_path_leads_out_of_the_jail(path: str) -> None:
    item = ConfigItem.model_construct(key="a", path=path, mode=None)
    try:
        (file,) = payload(spec(item), {"a": b""})
    except PayloadError:
        return
    parts = file.path.split("/")[1:]
    assert all(part not in {"", ".", ".."} for part in parts)
