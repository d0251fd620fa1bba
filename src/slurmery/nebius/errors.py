"""What keeps a spec from being built; the text names the field, for a person must change it.

SpecError          the spec asks for what cannot be
└── SecretError    a Secret that the spec names does not hold what it should
"""


class SpecError(ValueError):
    """The spec asks for what cannot be; the text says where."""


class SecretError(SpecError):
    """A Secret that the spec names does not hold what it should."""
