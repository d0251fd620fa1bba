import io
import json
import tarfile
from pathlib import Path

from dev import bundle


def archive(path: Path, name: str, layers: dict[str, bytes]) -> Path:
    """A docker archive as buildah writes it."""
    manifest = [{"Config": f"{name}.json", "RepoTags": [f"localhost/{name}"], "Layers": list(layers)}]
    files = {**layers, f"{name}.json": b"{}", "manifest.json": json.dumps(manifest).encode()}
    with tarfile.open(path, "w") as tar:
        for file, content in files.items():
            entry = tarfile.TarInfo(file)
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
    return path


def test_a_shared_layer_is_in_it_once_and_every_image_is_named(tmp_path: Path) -> None:
    shared = {"base.tar": b"x" * 5000}
    one = archive(tmp_path / "one.tar", "slurmctld", shared | {"a.tar": b"a"})
    two = archive(tmp_path / "two.tar", "slurmd", shared | {"b.tar": b"b"})

    bundle.write([one, two], tmp_path / "both.tar")

    with tarfile.open(tmp_path / "both.tar") as tar:
        names = tar.getnames()
        manifest = tar.extractfile("manifest.json")
        assert manifest
        images = json.load(manifest)
    assert sorted(names) == sorted(
        ["a.tar", "b.tar", "base.tar", "manifest.json", "slurmctld.json", "slurmd.json"]
    )
    assert [image["RepoTags"] for image in images] == [["localhost/slurmctld"], ["localhost/slurmd"]]
    assert images[1]["Layers"] == ["base.tar", "b.tar"]
