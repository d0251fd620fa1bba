"""The store against a model of itself: indexes never disagree with the views."""

from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st

from slurmery.kube.meta import Key, ObjectMeta, View
from slurmery.kube.store import Store


def view(name: str, **labels: str) -> View:
    return View(ObjectMeta(name=name, namespace="ns", labels=labels))


def label_values(view: View) -> Iterable[str]:
    return set(view.labels.values())


LABELS = st.dictionaries(st.sampled_from(["a", "b"]), st.sampled_from(["x", "y", "z"]))
STEPS = st.lists(st.tuples(st.sampled_from(["p", "q", "r"]), LABELS | st.none()))


@given(STEPS)
def test_indexes_follow_every_change(steps: list[tuple[str, dict[str, str] | None]]) -> None:
    store, model = Store({"value": label_values}), dict[Key, View]()
    for name, labels in steps:
        key = Key("ns", name)
        if labels is None:
            assert store.remove(key) == model.pop(key, None)
        else:
            assert store.put(view(name, **labels)) == model.get(key)
            model[key] = view(name, **labels)
        assert store.keys() == model.keys()
        assert len(store) == len(model)
        for value in "xyz":
            expected = {key for key, view in model.items() if value in view.labels.values()}
            assert {view.key for view in store.by("value", value)} == expected


def test_a_reader_keeps_its_snapshot() -> None:
    store = Store({"value": label_values})
    store.put(view("p", a="x"))
    everything, indexed = store.all(), store.by("value", "x")
    store.remove(Key("ns", "p"))
    assert everything == indexed == [view("p", a="x")]
    assert Key("ns", "p") not in store
