"""Gives every claim of the default StorageClass a folder that both nodes share.

    python -m dev.provisioner STATE

ReadWriteOnce and ReadWriteMany alike: both nodes see the same disk. A released volume's data go with it.
"""

import http.client
import json
import shutil
import ssl
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from dev import network
from dev.layout import Layout
from dev.node import VOLUMES

NAME = "slurmery.dev/shared"
CLASS = "shared"
POLL = 0.5

STORAGE_CLASS = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "StorageClass",
    "metadata": {"name": CLASS, "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}},
    "provisioner": NAME,
    "reclaimPolicy": "Delete",
    "volumeBindingMode": "Immediate",
}

Object = dict[str, Any]


def wanted(claims: Iterable[Object], volumes: Iterable[Object]) -> Iterator[Object]:
    """The volumes that claims wait for and that do not exist yet."""
    names = {volume["metadata"]["name"] for volume in volumes}
    for claim in claims:
        metadata, spec = claim["metadata"], claim["spec"]
        name = f"pvc-{metadata['uid']}"
        if spec.get("storageClassName") == CLASS and not spec.get("volumeName") and name not in names:
            yield {
                "apiVersion": "v1",
                "kind": "PersistentVolume",
                "metadata": {"name": name, "annotations": {"pv.kubernetes.io/provisioned-by": NAME}},
                "spec": {
                    "accessModes": spec["accessModes"],
                    "capacity": {"storage": spec["resources"]["requests"]["storage"]},
                    "claimRef": {
                        "apiVersion": "v1",
                        "kind": "PersistentVolumeClaim",
                        "namespace": metadata["namespace"],
                        "name": metadata["name"],
                        "uid": metadata["uid"],
                    },
                    "hostPath": {"path": str(VOLUMES / name), "type": "Directory"},
                    "persistentVolumeReclaimPolicy": "Delete",
                    "storageClassName": CLASS,
                },
            }


def released(volumes: Iterable[Object]) -> Iterator[str]:
    """The names of our volumes whose claims are gone."""
    for volume in volumes:
        ours = volume["spec"].get("storageClassName") == CLASS
        if ours and volume.get("status", {}).get("phase") == "Released":
            yield volume["metadata"]["name"]


class Provisioner:
    """Looks twice a second: two small lists in a workshop cluster, and nothing to miss."""

    def __init__(self, layout: Layout) -> None:
        self._folder = layout.volumes
        pki = layout.plane.pki
        self._trust = ssl.create_default_context(cafile=str(pki / "ca.crt"))
        self._trust.load_cert_chain(pki / "admin.crt", pki / "admin.key")

    def run(self) -> None:
        while True:
            try:
                self._pass()
            except (OSError, http.client.HTTPException) as error:
                print(f"waiting for the API server: {error!r}", flush=True)
            time.sleep(POLL)

    def _pass(self) -> None:
        volumes = self._call("GET", "persistentvolumes")["items"]
        claims = self._call("GET", "persistentvolumeclaims")["items"]
        for volume in wanted(claims, volumes):
            folder = self._folder / volume["metadata"]["name"]
            folder.mkdir(parents=True, exist_ok=True)
            # Whoever the pod runs as must be able to write.
            folder.chmod(0o777)
            self._call("POST", "persistentvolumes", volume)
        for name in released(volumes):
            shutil.rmtree(self._folder / name, ignore_errors=True)
            self._call("DELETE", f"persistentvolumes/{name}")

    def _call(self, verb: str, path: str, body: Object | None = None) -> Any:
        connection = http.client.HTTPSConnection(network.CONTROL, 6443, timeout=10, context=self._trust)
        try:
            data = json.dumps(body) if body else None
            connection.request(verb, f"/api/v1/{path}", data, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            content = json.loads(answer.read())
            if answer.status >= 400:
                raise OSError(f"{verb} {path}: {content.get('message', answer.status)}")
            return content
        finally:
            connection.close()


if __name__ == "__main__":
    Provisioner(Layout(Path(sys.argv[1]))).run()
