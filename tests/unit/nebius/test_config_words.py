"""No text of a user becomes more than what it was written as."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slurmery.api.nebius.configuration import SlurmConfig
from slurmery.nebius.cluster import Cluster
from slurmery.nebius.config import words
from slurmery.nebius.config.slurm import slurm_files
from slurmery.slurmconf.text import TextError
from tests.unit.nebius.clusters import cluster
from tests.unit.slurmconf.reader import read

CLUSTER = cluster(customSlurmConfig="")


def keys(found: Cluster) -> list[str]:
    text = slurm_files(found)["slurm.conf"].replace("include ", "include=")
    return [line[0][0] for line in read(text) if line]


BEFORE = keys(CLUSTER)


@given(st.text(min_size=1))
def test_no_value_adds_a_line_or_a_key(value: str) -> None:
    config = CLUSTER.spec.slurm_config.model_copy(update={"prolog": value, "topology_param": value})
    assert isinstance(config, SlurmConfig)
    spec = CLUSTER.spec.model_copy(update={"slurm_config": config})
    try:
        after = keys(Cluster(spec, CLUSTER.names))
    except TextError:
        return
    assert after == BEFORE


@given(st.text())
def test_a_word_is_one_word(text: str) -> None:
    try:
        written = words.word("field", text)
    except TextError:
        return
    assert written.split() == ([text] if text else [])
    assert "#" not in written


@given(st.text())
def test_a_line_is_one_line_and_does_not_take_the_next(text: str) -> None:
    try:
        written = words.one_line("field", text)
    except TextError:
        return
    assert len(f"{written}.".splitlines()) == 1
    assert not written.endswith("\\")


@given(st.text())
def test_settings_are_settings_and_do_not_take_the_next_line(text: str) -> None:
    try:
        lines = words.settings("field", text)
    except TextError:
        return
    assert not lines or not lines[-1].endswith("\\")


@pytest.mark.parametrize(
    "text", ["", "  \n ", "A=1", " a = b c", "# x", "Include other.conf", "A=1 \\\n b=2"]
)
def test_settings_that_slurm_reads_are_kept(text: str) -> None:
    assert "\n".join(words.settings("field", text)) == (text if text.strip() else "")
