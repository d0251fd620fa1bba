"""The folder of one embedded cluster: identities, data and logs. Made whole before anything starts."""

from pathlib import Path

from dev import cgroups, components, files, network, pki
from dev.components import Plane

IDENTITIES = {
    "admin": ("admin", "system:masters"),
    "controller-manager": ("system:kube-controller-manager", ""),
    "scheduler": ("system:kube-scheduler", ""),
    "kube-proxy": ("system:kube-proxy", ""),
}


class Layout:
    """Names every path, and makes the files that programs read. Making them again changes nothing."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.run = folder / "run"
        self.logs = folder / "logs"
        self.volumes = folder / "volumes"
        self.plane = Plane(network.CONTROL, folder)
        self.authority = pki.Authority(self.plane.pki)

    def prepare(self) -> None:
        names = ["kubernetes", "kubernetes.default", "kubernetes.default.svc", "localhost"]
        names += [f"kubernetes.default.svc.{components.DNS_DOMAIN}"]
        addresses = ["127.0.0.1", network.CONTROL, components.KUBERNETES_SERVICE]
        self.authority.issue("apiserver", "kube-apiserver", hosts=(*names, *addresses))
        pki.service_account_key(self.plane.pki)
        for file, (name, group) in IDENTITIES.items():
            self._identity(file, name, group)
        for index in range(network.NODES):
            node, address = network.node_name(index), network.node_address(index)
            self._identity(node, f"system:node:{node}", "system:nodes", (node, address))
            cgroups.create(self.cgroup_root(index))

    def kubeconfig(self, file: str) -> Path:
        """What a program inside the sandbox uses."""
        return self.plane.pki / f"{file}.kubeconfig"

    def node(self, index: int) -> Path:
        return self.folder / network.node_name(index)

    def cgroup_root(self, index: int) -> str:
        return cgroups.root(self.folder.name, network.node_name(index))

    def _identity(self, file: str, name: str, group: str, hosts: tuple[str, ...] = ()) -> None:
        pair = self.authority.issue(file, name, group, hosts)
        text = components.kubeconfig(self.plane.server, self.authority, pair)
        files.write(self.kubeconfig(file), text, 0o600)
