"""The jail is filled once, and nodes lay over it what is theirs, through no link that its users have made."""

import pytest

from tests.unit.images.container import Container

POPULATE = "jail/populate"
COMPLEMENT = "jail/bin/complement_jail.sh"
VOLUME = "mkdir /mnt/jail; mount -t tmpfs tmpfs /mnt/jail"
ROOT = f"{VOLUME}; cd /mnt/jail; mkdir -p dev etc usr; touch etc/mine"


@pytest.fixture
def archive(container: Container) -> None:
    """What is in the image."""
    container.stub("tar", body="cd /mnt/jail; mkdir -p dev etc usr root; touch etc/ours")
    container.stub("ssh-keygen", body='for file; do :; done; echo private >"$file"; echo public >"$file.pub"')


@pytest.mark.usefixtures("archive")
class TestPopulate:
    def run(self, container: Container, setup: str, overwrite: str = "0") -> tuple[int, list[str]]:
        outcome = container.run(POPULATE, setup=setup, env={"OVERWRITE": overwrite})
        return outcome.status, outcome.output.splitlines()

    def test_an_empty_volume_is_filled_and_gets_a_key_of_its_own(self, container: Container) -> None:
        container.stub(
            "sync", body="ls -A /mnt/jail; cat /mnt/jail/root/.ssh/authorized_keys; stat -c %a /mnt/jail"
        )
        status, said = self.run(container, f"{VOLUME}; mkdir /mnt/jail/lost+found")
        assert status == 0
        assert said == [
            "populate_jail: filling /mnt/jail",
            *(".populating", "dev", "etc", "lost+found", "root", "usr"),
            *("public", "755"),
            "populate_jail: done",
        ]

    def test_a_root_file_system_that_is_there_stays(self, container: Container) -> None:
        status, said = self.run(container, ROOT)
        assert (status, container.started("tar")) == (0, False)
        assert said == ["populate_jail: /mnt/jail holds a root file system already; it stays as it is"]

    def test_anything_else_is_not_touched_but_refused(self, container: Container) -> None:
        status, said = self.run(container, f"{VOLUME}; touch /mnt/jail/data")
        assert (status, container.started("tar")) == (1, False)
        assert "set populateJail.overwrite" in said[-1]

    @pytest.mark.parametrize(
        ("setup", "overwrite"), [("", "1"), ("touch .populating", "0")], ids=["said", "killed"]
    )
    def test_what_was_said_to_go_or_is_half_done_goes(
        self, container: Container, setup: str, overwrite: str
    ) -> None:
        container.stub("sync", body="ls /mnt/jail/etc")
        status, said = self.run(container, f"{ROOT}; {setup or ':'}", overwrite)
        assert (status, said[2:-1]) == (0, ["ours"])

    def test_it_waits_for_the_volume(self, container: Container) -> None:
        container.stub("sync")
        container.stub("sleep", body="mount -t tmpfs tmpfs /mnt/jail")
        status, said = self.run(container, "mkdir /mnt/jail")
        assert (status, said[0]) == (
            0,
            "populate_jail: /mnt/jail is no mount point: waiting until its volume is mounted",
        )


class TestComplement:
    @pytest.fixture(autouse=True)
    def laid(self, container: Container) -> None:
        # Other mounts are real ones, also those that keep the test from this machine's own folders.
        container.stub("mount", body='case $1 in --rbind) echo "$2 $3" ;; *) exec /bin/mount "$@" ;; esac')

    def run(self, container: Container, setup: str = ":") -> tuple[int, list[str]]:
        mounts = "mkdir -p /mnt/jail/etc /mnt/jail.upper/data; mount -t tmpfs tmpfs /mnt/jail.upper/data"
        outcome = container.run(COMPLEMENT, setup=f"{mounts}; {setup}")
        return outcome.status, outcome.output.splitlines()

    def test_a_node_lays_its_own_over_the_jail(self, container: Container) -> None:
        status, laid = self.run(container)
        assert status == 0, laid
        for path in ("/dev", "/run", "/etc/hosts"):
            assert f"{path} /mnt/jail{path}" in laid
        assert "/mnt/jail.upper/data /mnt/jail/data" in laid

    def test_nothing_is_mounted_through_a_link_of_a_user(self, container: Container) -> None:
        status, said = self.run(container, "mkdir /mnt/jail/var; ln -s /etc /mnt/jail/var/cache")
        assert status == 1
        assert said[-1].startswith(
            "complement_jail: /var/cache/enroot-container-images in the jail leads to /etc/"
        )

    def test_a_link_in_place_of_a_file_gives_way_to_it(self, container: Container) -> None:
        status, laid = self.run(container, "ln -s /etc/passwd /mnt/jail/etc/hosts")
        assert (status, "/etc/hosts /mnt/jail/etc/hosts" in laid) == (0, True)
