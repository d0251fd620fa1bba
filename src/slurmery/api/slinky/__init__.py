"""The kinds of `slinky.slurm.net/v1beta1`, one module each."""

from slurmery.api.slinky.accounting import Accounting
from slurmery.api.slinky.controller import Controller
from slurmery.api.slinky.loginset import LoginSet
from slurmery.api.slinky.nodeset import NodeSet
from slurmery.api.slinky.restapi import RestApi
from slurmery.api.slinky.token import Token

KINDS = (Controller, NodeSet, LoginSet, Accounting, RestApi, Token)

__all__ = ["KINDS", "Accounting", "Controller", "LoginSet", "NodeSet", "RestApi", "Token"]
