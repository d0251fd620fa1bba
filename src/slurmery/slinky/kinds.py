"""Where the API server serves the kinds of this front door."""

from typing import Final

from slurmery.api import slinky
from slurmery.doors.views import resource

CONTROLLERS: Final = resource(slinky.Controller)
NODE_SETS: Final = resource(slinky.NodeSet)
LOGIN_SETS: Final = resource(slinky.LoginSet)
ACCOUNTINGS: Final = resource(slinky.Accounting)
REST_APIS: Final = resource(slinky.RestApi)
TOKENS: Final = resource(slinky.Token)
