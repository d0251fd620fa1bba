"""PID 1 of the sandbox: the control plane of the embedded cluster, and the power switch of its nodes.

    python -m dev.init STATE LISTENER

STATE is the cluster's folder; LISTENER the inherited descriptor of a socket that listens outside.
"""

import os
import sys
from pathlib import Path

from dev import binaries, components, files, mounts, network, sandbox
from dev.layout import Layout
from dev.supervisor import Service, Supervisor


def main(state: str, listener: str) -> None:
    layout = Layout(Path(state))
    files.write(layout.folder / sandbox.NAMESPACE, os.readlink("/proc/self/ns/pid"))  # noqa: PTH115
    mounts.empty(Path("/run"))
    network.set_up_control()
    nodes = [_node(layout, index) for index in range(network.NODES)]
    services = [*_control_plane(layout), _relay(int(listener)), *nodes]
    Supervisor(services, layout.run, layout.logs).run()


def _control_plane(layout: Layout) -> list[Service]:
    plane, authority = layout.plane, layout.authority
    serving = authority.issue("apiserver", "kube-apiserver")
    corefile = files.write(
        layout.folder / "Corefile", components.corefile(network.CONTROL, layout.kubeconfig("admin"))
    )
    commands = {
        "etcd": components.etcd(binaries.find("etcd"), plane),
        "kube-apiserver": components.apiserver(binaries.find("kube-apiserver"), plane, serving),
        "kube-controller-manager": components.controller_manager(
            binaries.find("kube-controller-manager"), plane, layout.kubeconfig("controller-manager")
        ),
        "kube-scheduler": components.scheduler(
            binaries.find("kube-scheduler"), plane, layout.kubeconfig("scheduler")
        ),
        "coredns": components.coredns(binaries.find("coredns"), corefile),
        "provisioner": [sys.executable, "-m", "dev.provisioner", str(layout.folder)],
    }
    return [Service(name, command) for name, command in commands.items()]


def _relay(listener: int) -> Service:
    command = [sys.executable, "-m", "dev.relay", str(listener), network.CONTROL, "6443"]
    return Service("relay", command, pass_fds=(listener,))


def _node(layout: Layout, index: int) -> Service:
    namespaces = ["unshare", "--mount", "--net", "--uts", "--propagation", "slave"]
    command = [*namespaces, sys.executable, "-m", "dev.node", str(layout.folder), str(index)]
    return Service(network.node_name(index), command, started=lambda pid: network.plug_in(index, pid))


if __name__ == "__main__":
    main(*sys.argv[1:])
