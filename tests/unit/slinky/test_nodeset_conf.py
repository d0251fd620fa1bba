import os
import re
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slurmery.slinky.nodeset import conf
from tests.unit.images.container import Container


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", {}),
        ("Weight=10", {"Weight": "10"}),
        ("  Weight=10 \n RealMemory=1000\t", {"Weight": "10", "RealMemory": "1000"}),
        ("feature=a,b", {"feature": "a,b"}),
        ("Feature=a Features=b", {"Feature": "a", "Features": "b"}),
        ("Gres=gpu:1 gres=nic:1", {"Gres": "gpu:1,nic:1"}),
        ("Weight= Port=1", {"Port": "1"}),
        ("Extra=a=b", {"Extra": "a=b"}),
    ],
)
def test_pairs_are_read_and_kept_in_the_users_spelling(text: str, found: dict[str, str]) -> None:
    assert conf.parameters(text) == found


@pytest.mark.parametrize("text", ["Weight", "=1", "a.b=1", 'Comment="x', "A=1 B", "1a=2"])
def test_what_is_no_list_of_pairs_is_refused(text: str) -> None:
    with pytest.raises(conf.ConfError):
        conf.parameters(text)


@pytest.mark.parametrize(
    ("text", "features"),
    [("", ["gpu"]), ("Feature=b Features=a,gpu, ", ["a", "b", "gpu"]), ("features=z", ["gpu", "z"])],
)
def test_every_node_has_the_name_of_its_nodeset_for_a_feature(text: str, features: list[str]) -> None:
    assert conf.features("gpu", conf.parameters(text)) == features


def argument(text: str) -> str:
    return conf.argument("gpu", conf.parameters(text))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", """'Features=gpu Topology='"$SLINKY_TOPOLOGY"''"""),
        ("Weight=5 feature=ib", """'Features=gpu,ib Weight=5 Topology='"$SLINKY_TOPOLOGY"''"""),
        (
            "weight=5 CoreSpecCount=1",
            """'CoreSpecCount=1 Features=gpu weight=5 Topology='"$SLINKY_TOPOLOGY"''""",
        ),
        ("Topology=tree:s1 Weight=5", "'Features=gpu Weight=5 Topology=tree:s1'"),
        ("Extra=$(POD_IP)", """'Extra=$$(POD_IP) Features=gpu Topology='"$SLINKY_TOPOLOGY"''"""),
        ("Extra=it's", """'Extra=it'"'"'s Features=gpu Topology='"$SLINKY_TOPOLOGY"''"""),
    ],
)
def test_the_topology_comes_last_so_that_it_swallows_nothing_when_empty(text: str, value: str) -> None:
    assert argument(text) == value


def test_parameters_other_than_topology_are_the_same_with_and_without_one() -> None:
    plain, quoted = evaluated(argument("Weight=5 CoreSpecCount=1"), ""), argument("Weight=5 CoreSpecCount=1")
    assert plain == "CoreSpecCount=1 Features=gpu Weight=5 Topology="
    assert evaluated(quoted, "tree:s1") == f"{plain}tree:s1"


def from_kubelet(argument: str) -> str:
    """What the kubelet makes of an argument: variables put in, doubled dollars made single."""
    return re.sub(r"\$\$|\$\([^)]*\)", lambda found: "$" if found[0] == "$$" else "PUT IN", argument)


def evaluated(value: str, topology: str) -> str:
    """What a shell makes of the value, as upstream's image does."""
    script = f"set -f; set -- {from_kubelet(value)}; printf '%s|%s' $# \"$1\""
    env = {"SLINKY_TOPOLOGY": topology, "PATH": os.environ["PATH"]}
    done = subprocess.run(["sh", "-uc", script], env=env, capture_output=True, text=True, check=True)
    count, _, text = done.stdout.partition("|")
    assert (count, done.stderr) == ("1", "")
    return text


values = st.text(st.characters(min_codepoint=33, max_codepoint=126, exclude_characters='"'), min_size=1)


@settings(max_examples=40)
@given(st.dictionaries(st.sampled_from(["Weight", "Gres", "Extra", "Comment"]), values, min_size=1))
def test_no_value_is_evaluated_or_ends_its_argument(given_values: dict[str, str]) -> None:
    written = conf.argument("gpu", given_values)
    expected = dict(given_values) | {"Features": "gpu"}
    words = [f"{key}={expected[key]}" for key in sorted(expected)]
    assert evaluated(written, "s1") == " ".join([*words, "Topology=s1"])


@settings(max_examples=10, deadline=None)
@given(values)
def test_our_image_reads_the_same(value: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        container = Container(Path(folder))
        container.stub("slurmd")
        done = container.run(
            "slurm/entrypoint/slurmd",
            "-Z",
            "--conf",
            from_kubelet(conf.argument("gpu", {"Extra": value})),
            env={"SLINKY_TOPOLOGY": "tree:s1", "POD_CPUS": "4"},
            setup="rm -f /etc/ssh/sshd_config",
        )
        assert done.status == 0, done.output
        assert container.arguments("slurmd")[-1] == f"Extra={value} Features=gpu Topology=tree:s1 CPUs=4"


def test_our_image_leaves_out_an_empty_topology(tmp_path: Path) -> None:
    container = Container(tmp_path)
    container.stub("slurmd")
    container.run(
        "slurm/entrypoint/slurmd", "--conf", argument("Weight=5"), setup="rm -f /etc/ssh/sshd_config"
    )
    assert container.arguments("slurmd")[-1].split() == ["Features=gpu", "Weight=5"]
