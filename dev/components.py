"""Command lines and configuration of the cluster's programs, as pure functions."""

import base64
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from dev.pki import Authority, Pair

Command = list[str]

SERVICES = "10.96.0.0/16"
KUBERNETES_SERVICE = "10.96.0.1"
DNS_DOMAIN = "cluster.local"
PAUSE = "localhost/slurmery/pause:1"


@dataclass(frozen=True)
class Plane:
    """Where one control plane lives."""

    address: str
    folder: Path

    @property
    def server(self) -> str:
        return f"https://{self.address}:6443"

    @property
    def etcd(self) -> str:
        return f"http://{self.address}:2379"

    @property
    def pki(self) -> Path:
        return self.folder / "pki"


def etcd(program: Path, plane: Plane) -> Command:
    peers = f"http://{plane.address}:2380"
    return [
        str(program),
        f"--data-dir={plane.folder / 'etcd'}",
        f"--listen-client-urls={plane.etcd}",
        f"--advertise-client-urls={plane.etcd}",
        f"--listen-peer-urls={peers}",
        f"--initial-advertise-peer-urls={peers}",
        f"--initial-cluster=default={peers}",
        # A workshop's data may be lost with the machine, and syncing costs seconds.
        "--unsafe-no-fsync",
        "--log-level=warn",
    ]


def apiserver(program: Path, plane: Plane, serving: Pair, extra: tuple[str, ...] = ()) -> Command:
    pki = plane.pki
    return [
        str(program),
        f"--etcd-servers={plane.etcd}",
        f"--bind-address={plane.address}",
        f"--advertise-address={plane.address}",
        "--secure-port=6443",
        f"--service-cluster-ip-range={SERVICES}",
        f"--client-ca-file={pki / 'ca.crt'}",
        f"--tls-cert-file={serving.certificate}",
        f"--tls-private-key-file={serving.key}",
        f"--kubelet-certificate-authority={pki / 'ca.crt'}",
        f"--kubelet-client-certificate={pki / 'admin.crt'}",
        f"--kubelet-client-key={pki / 'admin.key'}",
        "--kubelet-preferred-address-types=InternalIP",
        f"--service-account-key-file={pki / 'service-accounts.key'}",
        f"--service-account-signing-key-file={pki / 'service-accounts.key'}",
        f"--service-account-issuer=https://kubernetes.default.svc.{DNS_DOMAIN}",
        "--authorization-mode=Node,RBAC",
        "--allow-privileged=true",
        # Webhooks are called at their endpoints: no kube-proxy runs beside the API server.
        "--enable-aggregator-routing=true",
        *extra,
    ]


def controller_manager(program: Path, plane: Plane, kubeconfig: Path) -> Command:
    pki = plane.pki
    return [
        str(program),
        f"--kubeconfig={kubeconfig}",
        f"--bind-address={plane.address}",
        f"--root-ca-file={pki / 'ca.crt'}",
        f"--service-account-private-key-file={pki / 'service-accounts.key'}",
        f"--cluster-signing-cert-file={pki / 'ca.crt'}",
        f"--cluster-signing-key-file={pki / 'ca.key'}",
        "--use-service-account-credentials=true",
        "--leader-elect=false",
        # A dead node is noticed in seconds, so that tests of node loss need not wait minutes.
        "--node-monitor-period=2s",
        "--node-monitor-grace-period=20s",
    ]


def scheduler(program: Path, plane: Plane, kubeconfig: Path) -> Command:
    return [
        str(program),
        f"--kubeconfig={kubeconfig}",
        f"--bind-address={plane.address}",
        "--leader-elect=false",
    ]


def coredns(program: Path, corefile: Path) -> Command:
    return [str(program), "-conf", str(corefile)]


def corefile(address: str, kubeconfig: Path) -> str:
    """Names of the cluster are answered, all others do not exist: nothing is asked outside."""
    return f"""\
{DNS_DOMAIN} in-addr.arpa {{
  bind {address}
  errors
  kubernetes {{
    kubeconfig {kubeconfig}
    pods insecure
    ttl 5
  }}
  cache 5
}}
. {{
  bind {address}
  ready 127.0.0.1:8181
  template ANY ANY {{
    rcode NXDOMAIN
  }}
}}
"""


def kubelet(program: Path, node: str, address: str, config: Path, kubeconfig: Path) -> Command:
    return [
        str(program),
        f"--config={config}",
        f"--kubeconfig={kubeconfig}",
        f"--hostname-override={node}",
        f"--node-ip={address}",
    ]


def kubelet_config(pki: Path, node: str, dns: str, resolv_conf: Path, cgroup_root: str) -> str:
    config: dict[str, Any] = {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": True},
            "x509": {"clientCAFile": str(pki / "ca.crt")},
        },
        "authorization": {"mode": "Webhook"},
        "tlsCertFile": str(pki / f"{node}.crt"),
        "tlsPrivateKeyFile": str(pki / f"{node}.key"),
        "containerRuntimeEndpoint": "unix:///run/containerd/containerd.sock",
        "clusterDNS": [dns],
        "clusterDomain": DNS_DOMAIN,
        "resolvConf": str(resolv_conf),
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": cgroup_root,
        "failCgroupV1": False,
        "failSwapOn": False,
        "volumePluginDir": "/var/lib/kubelet/volume-plugins",
        # Two nodes share one disk with everything else on the machine: its fill level is no node's fault.
        "evictionHard": {"memory.available": "100Mi"},
        "imageGCHighThresholdPercent": 100,
        "imageGCLowThresholdPercent": 99,
        "serializeImagePulls": False,
        "nodeStatusUpdateFrequency": "4s",
        "syncFrequency": "10s",
        # Changed ConfigMaps and Secrets reach pods at once instead of after a minute.
        "configMapAndSecretChangeDetectionStrategy": "Watch",
    }
    return yaml.safe_dump(config, sort_keys=False)


def kube_proxy(program: Path, config: Path) -> Command:
    return [str(program), f"--config={config}"]


def kube_proxy_config(node: str, kubeconfig: Path, pods: str) -> str:
    untouched = {"maxPerCore": 0, "min": 0, "tcpEstablishedTimeout": "0s", "tcpCloseWaitTimeout": "0s"}
    config: dict[str, Any] = {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "clientConnection": {"kubeconfig": str(kubeconfig)},
        "hostnameOverride": node,
        "mode": "iptables",
        "clusterCIDR": pods,
        # The machine's connection tracking limits are not ours to set.
        "conntrack": untouched,
        "iptables": {"minSyncPeriod": "100ms"},
    }
    return yaml.safe_dump(config, sort_keys=False)


def containerd_config(pause: str) -> str:
    return f"""\
version = 2
root = "/var/lib/containerd"
state = "/run/containerd"
[grpc]
  address = "/run/containerd/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{pause}"
  # A machine may lack the right to make a process less killable than we are.
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "/run/cni"
"""


def cni_config(pods: str) -> str:
    bridge = {
        "type": "bridge",
        "bridge": "pods0",
        "isGateway": True,
        "hairpinMode": True,
        "ipam": {
            "type": "host-local",
            "dataDir": "/run/cni-addresses",
            "ranges": [[{"subnet": pods}]],
            "routes": [{"dst": "0.0.0.0/0"}],
        },
    }
    plugins = [bridge, {"type": "portmap", "capabilities": {"portMappings": True}}]
    return json.dumps({"cniVersion": "0.4.0", "name": "pods", "plugins": plugins}, indent=2)


def kubeconfig(server: str, authority: Authority, pair: Pair, name: str = "slurmery") -> str:
    """A kubeconfig that holds its certificates, so that it can be copied anywhere."""
    user = {
        "client-certificate-data": _base64(pair.certificate),
        "client-key-data": _base64(pair.key),
    }
    cluster = {"server": server, "certificate-authority-data": _base64(authority.pair.certificate)}
    config: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": cluster}],
        "users": [{"name": name, "user": user}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "current-context": name,
    }
    return yaml.safe_dump(config, sort_keys=False)


def _base64(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()
