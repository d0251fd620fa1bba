from slurmery.doors import hashes


def test_the_hash_of_a_value_is_its_sha256() -> None:
    assert hashes.of_value("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert hashes.of_value(b"foo") == "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae"


def test_the_hash_of_a_map_is_of_its_values_in_the_order_of_keys() -> None:
    wanted = "093635f9ad1c31773993253f0daf910da63189bb2cc120e0c89fbf2b57bb05fe"
    assert hashes.of_map({}) == ""
    assert hashes.of_map({"foo": "bar", "fizz": "buzz"}) == wanted
    assert hashes.of_map({"fizz": b"buzz", "foo": b"bar"}) == wanted
