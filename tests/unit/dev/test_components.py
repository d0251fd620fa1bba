import json
from pathlib import Path

import yaml

from dev import components, network
from dev.pki import Authority


def test_a_kubeconfig_needs_no_other_file(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    pair = authority.issue("admin", "admin", "system:masters")

    config = yaml.safe_load(components.kubeconfig("https://127.0.0.1:1234", authority, pair))

    assert str(tmp_path) not in json.dumps(config)
    assert config["clusters"][0]["cluster"]["server"] == "https://127.0.0.1:1234"
    assert config["users"][0]["user"]["client-key-data"]


def test_identities_survive_a_second_start(tmp_path: Path) -> None:
    first = Authority(tmp_path).issue("node-0", "system:node:node-0", "system:nodes").certificate.read_bytes()
    again = Authority(tmp_path).issue("node-0", "system:node:node-0", "system:nodes").certificate.read_bytes()

    assert first == again


def test_a_name_outside_the_cluster_does_not_exist() -> None:
    corefile = components.corefile("10.250.0.1", Path("/kubeconfig"))

    assert "forward" not in corefile
    assert "rcode NXDOMAIN" in corefile


def test_nodes_have_networks_of_their_own() -> None:
    subnets = {network.node_pods(index) for index in range(network.NODES)}
    addresses = {network.node_address(index) for index in range(network.NODES)}

    assert len(subnets) == len(addresses) == network.NODES == 2
