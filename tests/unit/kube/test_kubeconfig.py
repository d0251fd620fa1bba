"""Kubeconfig files, one or several, good or bad."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from slurmery.kube.errors import ConfigError
from slurmery.kube.kubeconfig import select


def write(path: Path, **content: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump({name.replace("_", "-"): value for name, value in content.items()}))
    return path


def context(name: str, cluster: str = "c", user: str = "u") -> dict[str, Any]:
    return {"name": name, "context": {"cluster": cluster, "user": user}}


CLUSTERS = [{"name": "c", "cluster": {"server": "https://c"}}]
USERS = [{"name": "u", "user": {"token": "t"}}]


def test_a_context_names_a_cluster_and_a_user(tmp_path: Path) -> None:
    path = write(
        tmp_path / "config", current_context="x", contexts=[context("x")], clusters=CLUSTERS, users=USERS
    )
    chosen = select([path])
    assert (chosen.cluster.server, chosen.user.token) == ("https://c", "t")


def test_several_files_merge_and_the_first_word_counts(tmp_path: Path) -> None:
    first = write(tmp_path / "1", current_context="x", users=USERS)
    second = write(
        tmp_path / "2",
        current_context="y",
        contexts=[context("x"), context("y", user="v")],
        clusters=CLUSTERS,
        users=[{"name": "u", "user": {"token": "late"}}, {"name": "v", "user": None}],
    )
    files = [tmp_path / "missing", first, second]
    assert select(files).user.token == "t"
    assert select(files, "y").user.token is None


def test_paths_are_relative_to_their_file(tmp_path: Path) -> None:
    cluster = {"server": "https://c", "certificate-authority": "ca.crt"}
    users = [
        {"name": "u", "user": {"client-certificate": "u.crt", "client-key": "/abs/u.key", "tokenFile": "t"}},
        {"name": "bin", "user": {"exec": {"command": "bin/login"}}},
        {"name": "path", "user": {"exec": {"command": "login"}}},
    ]
    contexts = [context("u"), context("bin", user="bin"), context("path", user="path")]
    path = write(
        tmp_path / "d" / "config",
        contexts=contexts,
        clusters=[{"name": "c", "cluster": cluster}],
        users=users,
    )
    chosen = select([path], "u")
    assert chosen.cluster.certificate_authority == str(tmp_path / "d" / "ca.crt")
    assert chosen.user.client_certificate == str(tmp_path / "d" / "u.crt")
    assert chosen.user.client_key == "/abs/u.key"
    assert chosen.user.token_file == str(tmp_path / "d" / "t")
    commands = [select([path], name).user.exec_ for name in ("bin", "path")]
    assert [command and command.command for command in commands] == [
        str(tmp_path / "d" / "bin/login"),
        "login",
    ]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({"contexts": [context("x")]}, "no current-context"),
        ({"current_context": "z", "contexts": [context("x")]}, "has no context 'z'; it has: x"),
        ({"current_context": "x", "contexts": [context("x")]}, "has no cluster 'c'; it has: none"),
        ({"current_context": "x", "contexts": [context("x")], "clusters": CLUSTERS}, "has no user 'u'"),
        (
            {"current_context": "x", "contexts": [context("x")], "clusters": [{"name": "c"}]},
            "cluster 'c' has no server",
        ),
        ({"clusters": "c"}, "is not valid: Expected `array | null`, got `str` - at `\\$.clusters`"),
    ],
)
def test_a_bad_file_is_named_with_its_fault(tmp_path: Path, content: dict[str, Any], words: str) -> None:
    path = write(tmp_path / "config", **content)
    with pytest.raises(ConfigError, match=f"{path}.*{words}"):
        select([path])


@pytest.mark.parametrize("text", ["a: [", "- 1", "\x00", "just words"])
def test_what_is_no_kubeconfig_is_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / "config"
    path.write_text(text)
    with pytest.raises(ConfigError, match=str(path)):
        select([path])


def test_a_file_that_is_not_there_comes_with_the_fix(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=rf"{tmp_path}/config does not exist: point KUBECONFIG"):
        select([tmp_path / "config"])


def test_a_file_that_may_not_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    with pytest.raises(ConfigError, match=f"cannot read kubeconfig.*{tmp_path}/config"):
        select([tmp_path / "config"])
