import threading
from pathlib import Path

import pytest

from dev import files, paths


def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = files.write(tmp_path / "config", "old")
    monkeypatch.setattr(Path, "replace", lambda *_: (_ for _ in ()).throw(OSError("killed")))

    with pytest.raises(OSError, match="killed"):
        files.write(target, "new")
    assert target.read_text() == "old"


def test_modes_are_kept(tmp_path: Path) -> None:
    assert files.write(tmp_path / "key", b"secret", 0o600).stat().st_mode & 0o777 == 0o600


def test_a_lock_has_one_holder(tmp_path: Path) -> None:
    order: list[str] = []
    inside = threading.Event()

    def second() -> None:
        inside.wait()
        with files.lock(tmp_path / "lock"):
            order.append("second")

    thread = threading.Thread(target=second)
    thread.start()
    with files.lock(tmp_path / "lock"):
        inside.set()
        thread.join(0.2)
        order.append("first")
    thread.join()

    assert order == ["first", "second"]


def test_checkouts_have_state_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    here = paths.state()
    monkeypatch.setattr(paths, "ROOT", Path("/elsewhere/main"))

    assert paths.state() != here
