"""The one way the workshop says no."""


class Refusal(Exception):
    """A sentence for a person: what is wrong and what to do. Printed without a traceback."""
