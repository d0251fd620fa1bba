"""The embedded cluster's network: closed, because it lives in namespaces without a way out.

      machine │ sandbox (control plane)            node-0                 node-1
              │   lan0 10.250.0.1 ─────┬── eth0 10.250.0.10 ──┬── eth0 10.250.0.11
              │                        │   pods0 10.244.0.1   │   pods0 10.244.1.1
    127.0.0.1:PORT ── relay ── 10.250.0.1:6443     pods              pods

The sandbox has no interface to the machine's network and no default route, so no packet of the cluster can
leave, whatever rules are missing. The one way in is a listening socket that was opened outside and handed
to the relay inside.
"""

import subprocess
import time
from pathlib import Path

from dev.components import SERVICES

LAN = "10.250.0"
CONTROL = f"{LAN}.1"
PODS = "10.244.0.0/16"
NODES = 2


def node_name(index: int) -> str:
    return f"node-{index}"


def node_address(index: int) -> str:
    return f"{LAN}.{10 + index}"


def node_pods(index: int) -> str:
    return f"10.244.{index}.0/24"


def set_up_control() -> None:
    """The switch that the nodes plug into, and the ways to what lies behind them."""
    _ip("link set lo up")
    _ip("link add lan0 type bridge")
    _ip(f"addr add {CONTROL}/24 dev lan0")
    _ip("link set lan0 up")
    for index in range(NODES):
        _ip(f"route add {node_pods(index)} via {node_address(index)}")
    # Services are resolved by a node's kube-proxy: the control plane runs none.
    _ip(f"route add {SERVICES} via {node_address(0)}")
    _allow_forwarding()


def plug_in(index: int, pid: int) -> None:
    """Lay a cable from the switch to the namespace of a node's process, once it has left ours."""
    cable = f"to-{node_name(index)}"
    # A node that died may have left its end in a namespace that the kernel has not removed yet.
    subprocess.run(["ip", "link", "delete", cable], capture_output=True, check=False)
    while Path(f"/proc/{pid}/ns/net").readlink() == Path("/proc/self/ns/net").readlink():
        time.sleep(0.01)
    _ip(f"link add {cable} type veth peer name eth0 netns {pid}")
    _ip(f"link set {cable} master lan0 up")


def set_up_node(index: int) -> None:
    _wait_for("eth0")
    _ip("link set lo up")
    _ip(f"addr add {node_address(index)}/24 dev eth0")
    _ip("link set eth0 up")
    _ip(f"route add default via {CONTROL}")
    for other in range(NODES):
        if other != index:
            _ip(f"route add {node_pods(other)} via {node_address(other)}")
    # Where kube-proxy has no rule yet, a packet to a Service ends here and is not handed around.
    _ip("link add services0 type bridge")
    _ip("link set services0 up")
    _ip(f"route add {SERVICES} dev services0")
    _allow_forwarding()


def _allow_forwarding() -> None:
    for setting in ("ipv4/ip_forward", "bridge/bridge-nf-call-iptables"):
        path = Path("/proc/sys/net") / setting
        if path.exists():
            path.write_text("1")


def _wait_for(device: str) -> None:
    deadline = time.monotonic() + 10
    while subprocess.run(["ip", "link", "show", device], capture_output=True, check=False).returncode:
        if time.monotonic() > deadline:
            raise TimeoutError(f"{device} was not plugged in")
        time.sleep(0.02)


def _ip(arguments: str) -> None:
    subprocess.run(["ip", *arguments.split()], check=True)
