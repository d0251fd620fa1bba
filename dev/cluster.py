"""The embedded cluster of this checkout: starting it, filling it, asking it."""

import json
import os
import subprocess
import time
from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from dev import binaries, bundle, checks, components, files, images, network, packages, paths
from dev.images import Image
from dev.kubectl import Kubectl
from dev.layout import Layout
from dev.progress import Progress, Say
from dev.provisioner import STORAGE_CLASS
from dev.refusal import Refusal
from dev.sandbox import Sandbox

START_SECONDS = 120
# On a busy machine containerd's collector may take a layer from under an import; the next one finds the rest.
IMPORTS = 2


class Cluster:
    """One per checkout. `up` may be called in any state, also after a crash, and ends in the same one."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder or paths.state()
        self.kubeconfig = self.folder / "kubeconfig"
        self.sandbox = Sandbox(self.folder)

    def up(self, release: str, progress: Progress, only: Collection[str] = ()) -> None:
        """Start it, and load all images, or only those of some names; no pod starts without `pause`."""
        checks.machine()
        known = images.wanted(release, paths.cache() / "images")
        wanted = tuple(image for image in known if not only or image.name in only)
        with files.lock(paths.cache() / "locks" / self.folder.name):
            prepare(wanted, progress)
            self.start(progress)
            with progress.step("images into nodes") as say:
                self._import(wanted, say)

    def start(self, progress: Progress) -> None:
        """Start what does not run, on the data that are there, and wait until both nodes are ready."""
        with progress.step("cluster") as say:
            if self.sandbox.process() is None:
                self.sandbox.kill()  # what is left of one that was killed from outside
                self._start()
            self._wait_ready(say)

    @property
    def kubectl(self) -> Kubectl:
        return Kubectl(binaries.find("kubectl"), self.kubeconfig)

    def _start(self) -> None:
        layout = Layout(self.folder)
        layout.prepare()
        chosen = self.folder / "port"
        port = int(os.environ.get("PORT") or 0)
        if not port and chosen.exists():
            port = int(chosen.read_text())
        with checks.listener(port) as listener:
            port = listener.getsockname()[1]
            files.write(chosen, str(port))
            admin = layout.authority.issue("admin", "admin")
            server = f"https://127.0.0.1:{port}"
            text = components.kubeconfig(server, layout.authority, admin, name=self.folder.name)
            files.write(self.kubeconfig, text, 0o600)
            self.sandbox.start(listener)

    def _wait_ready(self, say: Say) -> None:
        deadline = time.monotonic() + START_SECONDS
        say("starting the control plane")
        self._wait("the API server", deadline, "get", "--raw", "/readyz")
        self.kubectl("apply", "-f", "-", stdin=json.dumps(STORAGE_CLASS))
        for index in range(network.NODES):
            say(f"waiting for {network.node_name(index)}")
            node = f"node/{network.node_name(index)}"
            self._wait(node, deadline, "wait", node, "--for=condition=Ready", "--timeout=5s")

    def _wait(self, what: str, deadline: float, *arguments: str) -> None:
        while (done := self.kubectl.attempt(*arguments)).returncode:
            if self.sandbox.process() is None or time.monotonic() > deadline:
                reason = done.stderr.strip().splitlines()[-1:] or ["no answer"]
                raise Refusal(
                    f"{what} did not become ready ({reason[0]}): look at `python -m dev logs`, then "
                    "`make down` and try again"
                )
            time.sleep(0.2)

    def _import(self, wanted: tuple[Image, ...], say: Say) -> None:
        with ThreadPoolExecutor() as pool:
            nodes = map(network.node_name, range(network.NODES))
            list(pool.map(lambda node: self._fill(node, wanted, say), nodes))

    def _fill(self, node: str, wanted: tuple[Image, ...], say: Say) -> None:
        known = self.folder / node / "imported"
        absent = [image for image in wanted if not (known / image.archive.name).exists()]
        if not absent:
            return
        say(f"{', '.join(image.name for image in absent)} into {node}")
        archive = self.folder / node / "images.tar"
        bundle.write((image.archive for image in absent), archive)
        line = self.sandbox.enter("ctr", "-n", "k8s.io", "images", "import", str(archive), node=node)
        for _ in range(IMPORTS):
            done = subprocess.run(line, capture_output=True, text=True, check=False)
            if not done.returncode:
                break
        else:
            raise Refusal(
                f"images could not be loaded into {node} ({done.stderr.strip()}): delete "
                f"{absent[0].archive.parent} and run this again"
            )
        archive.unlink()
        for image in absent:
            files.write(known / image.archive.name, "")


def prepare(wanted: tuple[Image, ...], progress: Progress) -> None:
    """Packages, images and programs: whatever is absent is made, images and programs side by side."""
    debian = (*packages.CLUSTER, *images.PACKAGES)
    absent = binaries.missing(binaries.CLUSTER)
    unbuilt = [image for image in wanted if not image.archive.exists()]
    checks.disk(cold=bool(absent or unbuilt))
    if packages.missing(debian):
        with progress.step("Debian packages") as say:
            packages.install(debian, say)
    with ThreadPoolExecutor() as pool:
        lanes = [
            pool.submit(compile_programs, absent, progress),
            pool.submit(_build_images, unbuilt, progress),
        ]
    for lane in lanes:
        lane.result()


def compile_programs(absent: list[binaries.Module], progress: Progress) -> None:
    for module in absent:
        with progress.step(f"{module.folder} {module.version}") as say:
            binaries.build(module, say)


def _build_images(unbuilt: list[Image], progress: Progress) -> None:
    for image in unbuilt:
        with progress.step(f"image {image.name}") as say:
            images.build(image, say)
