"""Where the API server serves the kinds of this front door, and those of other operators that it makes."""

from typing import Final

from slurmery.api import nebius
from slurmery.doors.views import resource
from slurmery.kube.meta import Resource

SLURM_CLUSTERS: Final = resource(nebius.SlurmCluster)
NODE_SETS: Final = resource(nebius.NodeSet)
POWER_STATES: Final = resource(nebius.NodeSetPowerState)
JAILED_CONFIGS: Final = resource(nebius.JailedConfig)

MARIADBS: Final = Resource("k8s.mariadb.com", "v1alpha1", "mariadbs", "MariaDB")
GRANTS: Final = Resource("k8s.mariadb.com", "v1alpha1", "grants", "Grant")
DATABASES: Final = Resource("k8s.mariadb.com", "v1alpha1", "databases", "Database")
APP_ARMOR_PROFILES: Final = Resource(
    "security-profiles-operator.x-k8s.io", "v1alpha1", "apparmorprofiles", "AppArmorProfile"
)
