"""Which revisions are kept."""

import msgspec

from slurmery.slinky import names
from slurmery.slinky.nodeset.history import Revision, expendable


def revision(number: int) -> Revision:
    metadata = {"name": f"gpu-{number}", "labels": {names.HASH_LABEL: f"hash-{number}"}}
    return msgspec.convert({"metadata": metadata, "revision": number}, Revision)


def test_the_oldest_that_no_pod_has_are_forgotten_beyond_the_limit() -> None:
    known = [revision(number) for number in (3, 1, 5, 2, 4)]

    assert [each.revision for each in expendable(known, {"hash-5", "hash-1"}, 1)] == [2, 3]
    assert expendable(known, {"hash-5"}, 10) == []
    assert [each.revision for each in expendable(known, {"hash-5"}, 0)] == [1, 2, 3, 4]
