"""The compressed page is the page."""

import gzip
import zlib

from hypothesis import given
from hypothesis import strategies as st

from slurmery.exporter.page import Block, gzipped


@given(st.lists(st.binary(max_size=2000)))
def test_any_blocks_make_one_gzip_stream(contents: list[bytes]) -> None:
    blocks = [Block(content, 1) for content in contents]
    stream = b"".join(gzipped(blocks))

    assert gzip.decompress(stream) == b"".join(contents)
    # One member only, and nothing after it: not every client reads on.
    single = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    assert single.decompress(stream) == b"".join(contents)
    assert single.eof
    assert not single.unused_data


def test_a_block_is_compressed_once_and_reused() -> None:
    kept, old, new = Block(b"kept\n" * 1000, 1000), Block(b"old\n", 1), Block(b"new\n", 1)
    first = list(gzipped([kept, old]))
    second = list(gzipped([kept, new]))

    assert first[1] is second[1]
    assert gzip.decompress(b"".join(second)) == kept.plain + new.plain
