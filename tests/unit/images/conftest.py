from pathlib import Path

import pytest

from tests.unit.images.container import Container


@pytest.fixture
def container(tmp_path: Path) -> Container:
    return Container(tmp_path)
