"""Label selectors mean what the API server takes them to mean."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slurmery.kube.errors import SelectorError
from slurmery.kube.selectors import LabelSelector, Requirement, equal, from_manifest, parse

NAMES = st.sampled_from(["app", "app.kubernetes.io/name", "slurm.nebius.ai/worker", "in", "notin"])
VALUES = st.sampled_from(["", "a", "b-1", "worker_2", "v1.0"])
REQUIREMENTS = st.one_of(
    st.builds(
        lambda key, values: Requirement(key, "In", tuple(sorted(values))), NAMES, st.sets(VALUES, min_size=1)
    ),
    st.builds(
        lambda key, values: Requirement(key, "NotIn", tuple(sorted(values))),
        NAMES,
        st.sets(VALUES, min_size=1),
    ),
    st.builds(lambda key: Requirement(key, "Exists"), NAMES),
    st.builds(lambda key: Requirement(key, "DoesNotExist"), NAMES),
)


@given(st.lists(REQUIREMENTS).map(lambda found: LabelSelector(tuple(found))))
def test_what_is_written_is_read_back(selector: LabelSelector) -> None:
    assert parse(str(selector)) == selector


@pytest.mark.parametrize(
    ("text", "labels", "expected"),
    [
        ("", {}, True),
        ("a=b", {"a": "b"}, True),
        ("a==b", {"a": "c"}, False),
        ("a=", {"a": ""}, True),
        ("a=b", {}, False),
        ("a!=b", {}, True),
        ("a!=b", {"a": "b"}, False),
        (" a in ( b , c ) , d ", {"a": "c", "d": ""}, True),
        ("a notin (b,c)", {"a": "c"}, False),
        ("a notin (b,c)", {}, True),
        ("!a", {"a": ""}, False),
        ("a,!b", {"a": ""}, True),
    ],
)
def test_matches(text: str, labels: dict[str, str], expected: bool) -> None:
    assert parse(text).matches(labels) is expected


@pytest.mark.parametrize(
    "text", ["a=b,", ",", "a b", "a in b", "a in (b", "a>1", "=b", "a=b c", "!", "a=(b)"]
)
def test_what_is_not_understood_never_means_everything(text: str) -> None:
    with pytest.raises(SelectorError):
        parse(text)


def test_a_label_selector_object_means_the_same_as_its_text() -> None:
    selector = from_manifest(
        {
            "matchLabels": {"b": "2", "a": "1"},
            "matchExpressions": [
                {"key": "c", "operator": "NotIn", "values": ["x", "y"]},
                {"key": "d", "operator": "DoesNotExist"},
            ],
        }
    )
    assert str(selector) == "a=1,b=2,c notin (x,y),!d"
    assert from_manifest({}) == equal({})


@pytest.mark.parametrize(
    "expression",
    [
        {"key": "a", "operator": "Near"},
        {"key": "a", "operator": "In"},
        {"key": "a", "operator": "Exists", "values": ["b"]},
    ],
)
def test_a_bad_expression_is_refused(expression: dict[str, object]) -> None:
    with pytest.raises(SelectorError):
        from_manifest({"matchExpressions": [expression]})
