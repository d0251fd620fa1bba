"""The judgement on our own kinds: their schema and rules, the objects they name, and what each kind adds.

Who deletes an object or changes nothing of its spec is never in the wrong: a finalizer can be removed and a
label set on an object that we would not accept today.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from slurmery.admission import references
from slurmery.admission.lookups import Answers, Want
from slurmery.admission.review import ALLOWED, Object, Request, Verdict
from slurmery.api.resource import CustomResource
from slurmery.api.validation import Problem, validate


def _nothing_wanted(_: Object) -> Iterable[Want]:
    return ()


def _nothing_wrong(_: Object, __: Answers) -> Iterable[Problem]:
    return ()


@dataclass(frozen=True)
class Judge:
    """Judges one kind; `wants_more` and `finds` are what is particular to it."""

    kind: type[CustomResource]
    finds: Callable[[Object, Answers], Iterable[Problem]] = _nothing_wrong
    wants_more: Callable[[Object], Iterable[Want]] = _nothing_wanted

    def wants(self, request: Request) -> list[Want]:
        new = _judged(request)
        if new is None:
            return []
        named = [reference.want for reference in references.references(self.kind, new)]
        return [*named, *self.wants_more(new)]

    def judge(self, request: Request, answers: Answers) -> Verdict:
        new = _judged(request)
        if new is None:
            return ALLOWED
        place = self.kind.place
        if (new.get("apiVersion"), new.get("kind")) != (place.api_version, place.kind):
            return Verdict.on([Problem("kind", f"must be {place.api_version} {place.kind}")])
        problems = validate(new, request.old_object if request.operation == "UPDATE" else None)
        try:
            problems += self.finds(new, answers)
        except (AttributeError, KeyError, TypeError, ValueError):
            # It stumbled over a fault that is reported already; if there is none, the fault is ours.
            if all(problem.warning for problem in problems):
                raise
        return Verdict.on([*problems, *references.warnings(references.references(self.kind, new), answers)])


def _judged(request: Request) -> Object | None:
    """The object that needs a judgement, if any."""
    new, old = request.object, request.old_object
    if request.operation not in {"CREATE", "UPDATE"} or new is None:
        return None
    metadata = new.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    if metadata.get("deletionTimestamp") or (old is not None and old.get("spec") == new.get("spec")):
        return None
    return {**new, "metadata": {**metadata, "namespace": request.namespace}}
