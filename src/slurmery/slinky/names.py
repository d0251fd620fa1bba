"""Every name of the slinky.slurm.net contract, in one place: objects, labels, ports, paths, annotations.

Other programs select, mount and watch by these; a name that changes here breaks somebody's cluster.
"""

from dataclasses import dataclass
from typing import Final

from slurmery.doors import marks

# Who the daemons run as.
SLURM_USER: Final = "slurm"
SLURM_UID: Final = 401
SLURMD_USER: Final = "root"
NOBODY_UID: Final = 65534


@dataclass(frozen=True)
class Daemon:
    """A program that pods run: `name` is its container, its port and its `app.kubernetes.io/name`."""

    name: str
    component: str
    port: int


SLURMCTLD: Final = Daemon("slurmctld", "controller", 6817)
SLURMD: Final = Daemon("slurmd", "worker", 6818)
SLURMDBD: Final = Daemon("slurmdbd", "accounting", 6819)
SLURMRESTD: Final = Daemon("slurmrestd", "restapi", 6820)
LOGIN: Final = Daemon("login", "login", 22)
SSH_PORT_NAME: Final = "ssh"
SSH_PORT: Final = 22

# Side containers.
RECONFIGURE: Final = "reconfigure"
LOGFILE: Final = "logfile"
INITCONF: Final = "initconf"

# Volumes.
SLURM_ETC: Final = "slurm-etc"
SLURM_CONFIG: Final = "slurm-config"
RUN: Final = "run"
SLURM_LOGFILE: Final = "slurm-logfile"
SLURM_AUTHSOCKET: Final = "slurm-authsocket"
STATESAVE: Final = "statesave"
SACKD_DIR: Final = "sackd-dir"
SSH_HOST_KEYS: Final = "ssh-host-keys"
SSH_CONFIG: Final = "ssh-config"
SSSD_CONF_VOLUME: Final = "sssd-conf"

# Paths.
ETC_SLURM: Final = "/etc/slurm"
STAGED_ETC_SLURM: Final = "/mnt/etc/slurm"
STAGED_CONFIG: Final = "/mnt/slurm"
RUN_DIR: Final = "/run"
LOG_DIR: Final = "/var/log/slurm"
SLURMCTLD_LOG: Final = "/var/log/slurm/slurmctld.log"
SLURMD_LOG: Final = "/var/log/slurm/slurmd.log"
AUTHSOCKET_DIR: Final = "/run/slurmctld"
STATESAVE_PARENT: Final = "/var/spool/slurmctld"
SLURMD_SPOOL: Final = "/var/spool/slurmd"
SACK_DIR: Final = "/run/slurm"
SACK_SOCKET: Final = "/run/slurm/sack.socket"
SSH_DIR: Final = "/etc/ssh"
SSSD_CONF_PATH: Final = "/etc/sssd/sssd.conf"
ROOT_KEYS_PATH: Final = "/root/.ssh/authorized_keys"

# Files.
SLURM_KEY: Final = "slurm.key"
JWT_KEY: Final = "jwt.key"
JWKS: Final = "jwks.json"
SLURM_CONF: Final = "slurm.conf"
CGROUP_CONF: Final = "cgroup.conf"
SLURMDBD_CONF: Final = "slurmdbd.conf"
SSHD_CONFIG: Final = "sshd_config"
SSSD_CONF: Final = "sssd.conf"
AUTHORIZED_KEYS: Final = "authorized_keys"

# Health endpoints that the daemons themselves serve on their port.
LIVEZ: Final = "/livez"
READYZ: Final = "/readyz"

# Labels.
NAME_LABEL: Final = "app.kubernetes.io/name"
INSTANCE_LABEL: Final = "app.kubernetes.io/instance"
COMPONENT_LABEL: Final = "app.kubernetes.io/component"
CLUSTER_LABEL: Final = "slinky.slurm.net/cluster"
ACTIVE_LABEL: Final = "controller.slinky.slurm.net/active"
HASH_LABEL: Final = "controller.kubernetes.io/hash"
STATEFUL_POD_LABEL: Final = "statefulset.kubernetes.io/pod-name"
POD_NAME_LABEL: Final = "nodeset.slinky.slurm.net/pod-name"
POD_INDEX_LABEL: Final = "nodeset.slinky.slurm.net/pod-index"
POD_HOSTNAME_LABEL: Final = "nodeset.slinky.slurm.net/pod-hostname"
POD_PROTECT_LABEL: Final = "nodeset.slinky.slurm.net/pod-protect"
SCALING_MODE_LABEL: Final = "nodeset.slinky.slurm.net/scaling-mode"
HOSTNAME_TOPOLOGY: Final = "kubernetes.io/hostname"

# Annotations on pod templates.
DEFAULT_CONTAINER: Final = "kubectl.kubernetes.io/default-container"
SLURM_KEY_HASH: Final = "slinky.slurm.net/slurm-key-hash"
JWT_KEY_HASH: Final = "slinky.slurm.net/jwt-key-hash"
SLURM_CONFIG_HASH: Final = "slinky.slurm.net/slurm-config-hash"
SLURMDBD_CONF_HASH: Final = "slinky.slurm.net/slurmdbd-conf-hash"
SSHD_CONF_HASH: Final = "slinky.slurm.net/sshd-conf-hash"
SSSD_CONF_HASH: Final = "slinky.slurm.net/sssd-conf-hash"
SSH_HOST_KEYS_HASH: Final = "slinky.slurm.net/ssh-host-keys-hash"

# Annotations on worker pods.
POD_CORDON: Final = "nodeset.slinky.slurm.net/pod-cordon"
POD_DELETION_COST: Final = "nodeset.slinky.slurm.net/pod-deletion-cost"
POD_DEADLINE: Final = "nodeset.slinky.slurm.net/pod-deadline"
TOPOLOGY_SPEC: Final = "topology.slinky.slurm.net/spec"

# Annotations on Kubernetes nodes, which we only read; TOPOLOGY_SPEC is one of them too.
NODE_CORDON_REASON: Final = "nodeset.slinky.slurm.net/node-cordon-reason"
FEATURES_SPEC: Final = "features.slinky.slurm.net/spec"
HOSTNAME_OVERRIDE: Final = "nodeset.slinky.slurm.net/hostname-override"

WORKER_TAINT: Final = "nodeset.slinky.slurm.net/worker"
RESERVATION_FINALIZER: Final = "nodeset.slinky.slurm.net/reservation"

# Conventions on Slurm's side.
REASON_PREFIX: Final = marks.REASON_PREFIX
FAREWELL: Final = f"{REASON_PREFIX}Pod is terminating"
FEATURE_PREFIX: Final = "k8s/"
RESERVATION_PREFIX: Final = "SlurmOperatorMaint-"

# Keys of generated Secrets.
TOKEN_KEY: Final = "SLURM_JWT"  # noqa: S105


def selector(daemon: Daemon, instance: str) -> dict[str, str]:
    """The labels by which pods of a daemon are selected; `instance` is the custom resource's name."""
    return {NAME_LABEL: daemon.name, INSTANCE_LABEL: instance}


def labels(daemon: Daemon, instance: str) -> dict[str, str]:
    """The labels of a daemon's objects."""
    return {**selector(daemon, instance), COMPONENT_LABEL: daemon.component}


def worker_labels(nodeset: str, controller: str) -> dict[str, str]:
    """The labels of a NodeSet's objects, which also say whose cluster they belong to."""
    return {**labels(SLURMD, nodeset), CLUSTER_LABEL: controller}


def cluster_worker_selector(controller: str) -> dict[str, str]:
    """The labels by which all workers of a cluster are selected."""
    return {NAME_LABEL: SLURMD.name, CLUSTER_LABEL: controller}


def controller(name: str) -> str:
    """StatefulSet, Service of the active slurmctld, PodDisruptionBudget and ServiceMonitor."""
    return f"{name}-controller"


def controller_internal(name: str) -> str:
    """The headless Service that gives every slurmctld pod its own DNS name."""
    return f"{name}-controller-internal"


def controller_pod(name: str, ordinal: int) -> str:
    """A slurmctld pod, and so its host name; of several, also its Service."""
    return f"{controller(name)}-{ordinal}"


def controller_config(name: str) -> str:
    """The ConfigMap with slurm.conf."""
    return f"{name}-config"


def controller_keys(name: str) -> str:
    """The Secret with our copy of the key that signs tokens."""
    return f"{name}-controller-keys"


def accounting(name: str) -> str:
    """StatefulSet, Service and configuration Secret of an Accounting."""
    return f"{name}-accounting"


def restapi(name: str) -> str:
    """Deployment and Service of a RestApi."""
    return f"{name}-restapi"


def ssh_config(name: str) -> str:
    """The ConfigMap with the sshd_config of a LoginSet or NodeSet."""
    return f"{name}-ssh-config"


def ssh_host_keys(name: str) -> str:
    """The Secret with the host keys of a LoginSet."""
    return f"{name}-ssh-host-keys"


def workers(controller_name: str) -> str:
    """The headless Service of all workers of a cluster, and the subdomain of their pods."""
    return f"slurm-workers-{controller_name}"


def workers_pdb(controller_name: str) -> str:
    """The PodDisruptionBudget that protects the busy workers of a cluster."""
    return f"slurm-workers-pdb-{controller_name}"


def token_secret(token: str, username: str) -> str:
    """The Secret that a Token is written to unless it names one."""
    return f"{token}-jwt-{username}"


def reservation(nodeset: str) -> str:
    """The Slurm reservation of a scheduled update."""
    return RESERVATION_PREFIX + nodeset


def in_namespace(service: str, namespace: str) -> str:
    """A Service's DNS name, good anywhere in the Kubernetes cluster."""
    return f"{service}.{namespace}"


def worker_search(controller_name: str, namespace: str, domain: str) -> str:
    """The DNS search domain that lets pods find workers by bare host name."""
    return f"{workers(controller_name)}.{namespace}.svc.{domain}"


def statesave(cluster_name: str) -> str:
    """Where slurmctld keeps its state."""
    return f"{STATESAVE_PARENT}/{cluster_name}"


def slurm_nodeset(nodeset: str, hostname: str) -> str:
    """What Slurm calls a NodeSet: the stem of its pods' host names if there is one, else its name."""
    stem = (hostname.split() or [""])[0].strip("-")
    return stem or nodeset
