"""One node of the embedded cluster: containerd, kubelet and kube-proxy in namespaces of their own.

    python -m dev.node STATE INDEX

A node sees the machine's programs, but its /run, /var/lib and /var/log are its own: every path is where it
is on a real node, and nothing of it shows outside.
"""

import socket
import sys
from pathlib import Path

from dev import binaries, components, files, mounts, network
from dev.layout import Layout
from dev.supervisor import Service, Supervisor

VOLUMES = Path("/var/lib/slurmery/volumes")


def main(state: str, index: str) -> None:
    layout = Layout(Path(state))
    socket.sethostname(network.node_name(int(index)))
    network.set_up_node(int(index))
    _set_up_mounts(layout, int(index))
    logs = layout.logs / network.node_name(int(index))
    Supervisor(_services(layout, int(index)), layout.node(int(index)) / "run", logs).run()


def _set_up_mounts(layout: Layout, index: int) -> None:
    mounts.share()
    own = Path("/run/node")
    mounts.empty(Path("/run"))
    mounts.bind(layout.node(index), own)
    mounts.bind(layout.volumes, Path("/run/volumes"))
    mounts.empty(Path("/var/lib"))
    for name in ("kubelet", "containerd", "cni"):
        mounts.bind(own / name, Path("/var/lib") / name)
    mounts.bind(Path("/run/volumes"), VOLUMES)
    mounts.bind(own / "log", Path("/var/log"))


def _services(layout: Layout, index: int) -> list[Service]:
    node, pki, config = network.node_name(index), layout.plane.pki, Path("/run/config")
    containerd = files.write(config / "containerd.toml", components.containerd_config(components.PAUSE))
    files.write(Path("/run/cni/10-pods.conflist"), components.cni_config(network.node_pods(index)))
    resolv_conf = files.write(config / "resolv.conf", f"nameserver {network.CONTROL}\n")
    kubelet = files.write(
        config / "kubelet.yaml",
        components.kubelet_config(pki, node, network.CONTROL, resolv_conf, layout.cgroup_root(index)),
    )
    proxy = files.write(
        config / "kube-proxy.yaml",
        components.kube_proxy_config(node, layout.kubeconfig("kube-proxy"), network.PODS),
    )
    address = network.node_address(index)
    commands = {
        "containerd": ["containerd", "--config", str(containerd)],
        "kubelet": components.kubelet(
            binaries.find("kubelet"), node, address, kubelet, layout.kubeconfig(node)
        ),
        "kube-proxy": components.kube_proxy(binaries.find("kube-proxy"), proxy),
    }
    return [Service(name, command) for name, command in commands.items()]


if __name__ == "__main__":
    main(*sys.argv[1:])
