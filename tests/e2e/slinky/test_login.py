"""Login nodes: users come in over SSH with their key, and find Slurm."""

from tests.e2e.slinky.department import Department


def test_jobs_run_from_a_login_over_ssh(department: Department) -> None:
    assert {"workers-0", "workers-1"} <= set(department.ssh("srun", "-N2", "hostname").split())


def test_another_key_does_not_open_the_login_node(department: Department) -> None:
    department.slurm.kubectl(
        "exec", "laptop", "--", "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", "/stranger"
    )
    as_stranger = ("-o", "IdentitiesOnly=yes", "-i", "/stranger", "root@login", "hostname")

    assert "Permission denied" in department.laptop.ssh(department.slurm, *as_stranger)


def test_users_trust_the_login_node_once(department: Department) -> None:
    assert department.ssh("uptime")
    [before] = [pod["metadata"]["name"] for pod in department.pods("login")]
    department.slurm.kubectl("delete", "pod", before, "--grace-period=1")
    department.slurm.wait("the login node is back", lambda: department.ready("loginset", "login"))

    # With other host keys, the client would refuse.
    department.slurm.wait("it lets them in", lambda: "login-" in department.ssh("hostname"))
    assert before not in department.ssh("hostname")
    assert "idle" in department.ssh("sinfo")


def test_login_nodes_scale_as_autoscalers_do_it(department: Department) -> None:
    slurm = department.slurm
    slurm.kubectl("scale", "loginset", "login", "--replicas=2")
    slurm.wait(
        "two login nodes",
        lambda: slurm.kubectl("get", "loginset", "login", "-o", "jsonpath={.status.replicas}") == "2",
    )
    selector = slurm.kubectl("get", "loginset", "login", "-o", "jsonpath={.status.selector}")
    found = slurm.kubectl("get", "pods", "-l", selector, "-o", "name").split()
    assert len(found) == 2

    slurm.kubectl("scale", "loginset", "login", "--replicas=1")
    slurm.wait("one login node", lambda: len(department.pods("login")) == 1)
