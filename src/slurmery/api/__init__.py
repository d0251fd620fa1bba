"""The contract: models of every custom resource and the CRD generator. Nothing but models."""
