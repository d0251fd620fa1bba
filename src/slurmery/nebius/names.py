"""Every name of the slurm.nebius.ai contract, in one place: objects, labels, ports, paths, volumes.

Other programs select, mount and watch by these; a name that changes here breaks somebody's cluster.

There are two generations. In 1.22 workloads have bare names (`controller`, `login`), so that a namespace
holds one cluster; since 5.0 they begin with the name of the cluster, unless it was born with bare names.
"""

from dataclasses import dataclass
from typing import Final

# Components, as `app.kubernetes.io/component` says them.
COMMON: Final = "common"
CONTROLLER: Final = "controller"
ACCOUNTING: Final = "accounting"
REST: Final = "rest"
WORKER: Final = "worker"
NODESET: Final = "nodeset"
LOGIN: Final = "login"
POPULATE_JAIL: Final = "populate-jail"
EXPORTER: Final = "exporter"
MARIADB: Final = "mariadb-operator"
SCONFIGCONTROLLER: Final = "sconfigcontroller"
NODE_CONFIGURATOR: Final = "node-configurator"
CHECKS: Final = "soperatorchecks"

# Labels.
NAME_LABEL: Final = "app.kubernetes.io/name"
INSTANCE_LABEL: Final = "app.kubernetes.io/instance"
COMPONENT_LABEL: Final = "app.kubernetes.io/component"
PART_OF_LABEL: Final = "app.kubernetes.io/part-of"
MANAGED_BY_LABEL: Final = "app.kubernetes.io/managed-by"
APPLICATION: Final = "slurmcluster"
OPERATOR: Final = "slurm-operator"
CONTROLLER_TYPE_LABEL: Final = "slurm.nebius.ai/controller-type"
CONTROLLER_MAIN: Final = "main"
CONTROLLER_PLACEHOLDER: Final = "placeholder"
WEBHOOK_LABEL: Final = "slurm.nebius.ai/webhook"
NODE_CONFIGURATOR_LABEL: Final = "slurm.nebius.ai/node-configurator"
AGGREGATION_LABEL: Final = "slurm.nebius.ai/jailed-aggregation"
NODESET_LABEL: Final = "slurm.nebius.ai/nodeset"
WORKER_LABEL: Final = "slurm.nebius.ai/worker"
ROLLING_UPDATE_LABEL: Final = "slurm.nebius.ai/rolling-update-enabled"
OPERATION_ID_LABEL: Final = "slurm.nebius.ai/worker-operation-id"
OPERATION_PHASE_LABEL: Final = "slurm.nebius.ai/worker-operation-phase"

# Annotations.
VERSIONS: Final = "versions"
DEFAULT_CONTAINER: Final = "kubectl.kubernetes.io/default-container"
CLUSTER_ANNOTATION: Final = "slurm.nebius.ai/cluster"
CLUSTER_NAME_ANNOTATION: Final = "slurm.nebius.ai/cluster-name"
PARENT_ANNOTATION: Final = "slurm.nebius.ai/parental-cluster-ref"
ACTIVE_CHECK_ANNOTATION: Final = "slurm.nebius.ai/activecheck"
SLURM_JOB_ANNOTATION: Final = "slurm-job-id"


@dataclass(frozen=True)
class Daemon:
    """A program that pods run: `name` is its container, `port_name` its port, `port` the usual number."""

    name: str
    component: str
    port_name: str
    port: int


SLURMCTLD: Final = Daemon("slurmctld", CONTROLLER, "slurmctld", 6817)
SLURMD: Final = Daemon("slurmd", WORKER, "slurmd", 6818)
SLURMDBD: Final = Daemon("accounting", ACCOUNTING, "accounting", 6819)
SLURMRESTD: Final = Daemon("slurmrestd", REST, "slurmrestd", 6820)
SSHD: Final = Daemon("sshd", LOGIN, "sshd", 22)
MYSQLD: Final = Daemon("mariadb", MARIADB, "mariadb", 3306)
EXPORTER_METRICS: Final = Daemon("exporter", EXPORTER, "metrics", 8080)
EXPORTER_MONITORING: Final = Daemon("exporter", EXPORTER, "monitoring", 8081)

# Containers that serve no port.
MUNGE: Final = "munge"
SSSD: Final = "sssd"
WAIT_FOR_DATABASE: Final = "wait-for-database"
WAIT_FOR_CONTROLLER: Final = "wait-for-controller"
WORKER_INIT: Final = "worker-init"
DOCKER_PROXY: Final = "docker-proxy"
SCONFIGCTRL: Final = "sconfigctrl"
INIT_DIR: Final = "init-dir"

# Volumes.
MUNGE_KEY: Final = "munge-key"
MUNGE_SOCKET: Final = "munge-socket"
JAIL: Final = "jail"
JAIL_SNAPSHOT: Final = "jail-snapshot"
CONTROLLER_SPOOL: Final = "controller-spool"
WORKER_SPOOL: Final = "worker-spool"
SPOOL: Final = "spool"
SECURITY_LIMITS: Final = "security-limits"
REST_JWT_KEY: Final = "rest-jwt-key"
SSHD_KEYS: Final = "sshd-keys"
SSH_ROOT_KEYS: Final = "ssh-root-keys"
SSH_CONFIGS: Final = "ssh-configs"
SSH_CONFIGS_WORKER: Final = "ssh-configs-worker"
IN_MEMORY: Final = "in-memory"
TMP_DISK: Final = "tmp-disk"
SLURM_CONFIGS: Final = "slurm-configs"
DATABASE_CA: Final = "slurmdbd-ssl-ca-cert"
DATABASE_CLIENT: Final = "slurmdbd-ssl-client-key"
NVIDIA: Final = "nvidia"
BOOT: Final = "boot"
DEV_SHM: Final = "dev-shm"
SYSCTL: Final = "sysctl"
SUPERVISORD_CONFIG: Final = "supervisord-config"
DATABASE_STORAGE: Final = "storage"
SSSD_CONF: Final = "sssd-conf"
SSSD_CONF_FILE: Final = "sssd.conf"
SSSD_SOCKET: Final = "sssd-socket"
SSSD_LDAP_CA: Final = "sssd-ldap-ca"
USER_ISOLATION: Final = "user-isolation"
RUNTIME: Final = "runtime"
HOST_JOURNAL: Final = "host-journal"
OUTPUTS: Final = "soperator-outputs"
TOPOLOGY_LABELS: Final = "topology-node-labels"
TOPOLOGY_CONFIG: Final = "topology-config"

# Paths.
JAIL_DIR: Final = "/mnt/jail"
JAIL_UPPER_DIR: Final = "/mnt/jail.upper"
JAIL_SNAPSHOT_DIR: Final = "/jail"
MUNGE_KEY_DIR: Final = "/mnt/munge-key"
MUNGE_DIR: Final = "/run/munge"
MUNGE_SOCKET_PATH: Final = "/run/munge/munge.socket.2"
SLURMCTLD_SPOOL: Final = "/var/spool/slurmctld"
SLURMD_SPOOL: Final = "/var/spool/slurmd"
SLURMDBD_SPOOL: Final = "/var/spool/slurmdbd"
LIMITS_PATH: Final = "/etc/security/limits.conf"
REST_JWT_DIR: Final = "/mnt/rest-jwt-key"
SSHD_KEYS_DIR: Final = "/etc/ssh/sshd_keys"
SSH_CONFIGS_DIR: Final = "/mnt/ssh-configs"
ROOT_KEYS_PATH: Final = "/root/.ssh/authorized_keys"
IN_MEMORY_DIR: Final = "/mnt/jail.upper/mnt/memory"
TMP_DIR: Final = "/tmp"  # noqa: S108
SLURM_CONFIGS_DIR: Final = "/mnt/slurm-configs"
JAILED_ETC_SLURM: Final = "/etc/slurm"
DATABASE_CA_DIR: Final = "/mnt/slurmdbd-ssl-ca-cert"
DATABASE_CLIENT_DIR: Final = "/mnt/slurmdbd-ssl-client-key"
NVIDIA_DIR: Final = "/run/nvidia"
BOOT_DIR: Final = "/boot"
SHM_DIR: Final = "/dev/shm"  # noqa: S108
SYSCTL_PATH: Final = "/etc/sysctl.conf"
SUPERVISORD_DIR: Final = "/etc/supervisor/conf.d/"
DATABASE_DIR: Final = "/var/lib/mysql"
SLURM_SCRIPTS_DIR: Final = "/opt/bin/slurm"
USER_ISOLATION_DIR: Final = "/mnt/user-isolation"
SSSD_CONF_DIR: Final = "/etc/sssd"
SSSD_SOCKET_DIR: Final = "/var/lib/sss/pipes"
SSSD_LDAP_CA_DIR: Final = "/mnt/ldapCA"
RUN_DIR: Final = "/run"
HOST_JOURNAL_DIR: Final = "/var/log/journal"
JAILED_JOURNAL_DIR: Final = "/var/hostlog/journal"
HOST_OUTPUTS_DIR: Final = "/var/log/soperator-outputs"
JAILED_OUTPUTS_DIR: Final = "/opt/soperator-outputs/local"
TOPOLOGY_LABELS_DIR: Final = "/tmp/slurm/topology-node-labels"  # noqa: S108
POWER_SCRIPTS_DIR: Final = "/opt/soperator/bin"

# Files.
SLURM_CONF: Final = "slurm.conf"
SLURM_BASE_CONF: Final = "slurm_base.conf.noedit"
SLURM_EXTRA_CONF: Final = "slurm_k8s_extra.conf.noedit"
CUSTOM_SLURM_CONF: Final = "custom_slurm.conf"
SLURM_REST_CONF: Final = "slurm_rest.conf"
CGROUP_CONF: Final = "cgroup.conf"
PLUGSTACK_CONF: Final = "plugstack.conf"
GRES_CONF: Final = "gres.conf"
MPI_CONF: Final = "mpi.conf"
TOPOLOGY_CONF: Final = "topology.conf"
SLURMDBD_CONF: Final = "slurmdbd.conf"
SSHD_CONFIG: Final = "sshd_config"
SUPERVISORD_CONF: Final = "supervisord.conf"
LIMITS_CONF: Final = "limits.conf"
SYSCTL_CONF: Final = "sysctl.conf"
AUTHORIZED_KEYS: Final = "authorized_keys"
MUNGE_KEY_FILE: Final = "munge.key"
REST_JWT_FILE: Final = "rest_jwt.key"
JWT_HS256_FILE: Final = "jwt_hs256.key"
CA_CERTIFICATE: Final = "ca.crt"
TLS_CERTIFICATE: Final = "tls.crt"
TLS_KEY: Final = "tls.key"

# Host keys of sshd, in the order in which sshd_config names them.
HOST_KEY_ALGORITHMS: Final = ("rsa", "ecdsa", "ed25519")

# The database.
DATABASE: Final = "slurm_acct_db"
DATABASE_USER: Final = "slurm"
MARIADB_PASSWORD: Final = "mariadb-password"  # noqa: S105
MARIADB_ROOT: Final = "mariadb-root"
PASSWORD_KEY: Final = "password"  # noqa: S105

# Who files in the shared root belong to, unless the spec says otherwise.
JAIL_UID: Final = 1001
JAIL_GID: Final = 1001


def host_key(algorithm: str) -> str:
    """The file of a private host key."""
    return f"ssh_host_{algorithm}_key"


def host_key_public(algorithm: str) -> str:
    """The file of a public host key."""
    return f"{host_key(algorithm)}.pub"


def selector(cluster: str, component: str) -> dict[str, str]:
    """The labels by which pods of a component are selected."""
    return {NAME_LABEL: APPLICATION, INSTANCE_LABEL: cluster, COMPONENT_LABEL: component}


def labels(cluster: str, component: str) -> dict[str, str]:
    """The labels of a component's objects."""
    return {**selector(cluster, component), PART_OF_LABEL: OPERATOR, MANAGED_BY_LABEL: OPERATOR}


@dataclass(frozen=True)
class Names:
    """The objects of one cluster; `prefixed` is the generation of 5.0."""

    cluster: str
    namespace: str
    prefixed: bool = False
    domain: str = "cluster.local"

    def _workload(self, name: str) -> str:
        return f"{self.cluster}-{name}" if self.prefixed else name

    # Workloads.
    @property
    def controller(self) -> str:
        return self._workload("controller")

    @property
    def controller_placeholder(self) -> str:
        return self._workload("controller-placeholder")

    @property
    def worker(self) -> str:
        return self._workload("worker")

    @property
    def login(self) -> str:
        return self._workload("login")

    @property
    def accounting(self) -> str:
        return self._workload("accounting")

    @property
    def rest(self) -> str:
        return self._workload("rest")

    @property
    def sconfigcontroller(self) -> str:
        return self._workload("sconfigcontroller")

    @property
    def exporter(self) -> str:
        return self._workload("slurm-exporter")

    @property
    def topology(self) -> str:
        """ConfigMap and JailedConfig."""
        return self._workload(TOPOLOGY_CONFIG)

    @property
    def controller_host(self) -> str:
        """The host name of slurmctld."""
        return f"{self.controller}-0"

    # What is prefixed in either generation.
    @property
    def populate_jail(self) -> str:
        return f"{self.cluster}-populate-jail"

    @property
    def database(self) -> str:
        """MariaDB, Grant and Database, or the StatefulSet and Service that stand in for them."""
        return f"{self.cluster}-acct-db"

    @property
    def controller_service(self) -> str:
        return f"{self.cluster}-controller-svc"

    @property
    def worker_service(self) -> str:
        return f"{self.cluster}-worker-svc"

    @property
    def nodeset_service(self) -> str:
        """The headless Service of all NodeSets."""
        return f"{self.cluster}-nodeset-svc"

    @property
    def login_service(self) -> str:
        return f"{self.cluster}-login-svc"

    @property
    def login_headless_service(self) -> str:
        return f"{self.cluster}-login-headless-svc"

    @property
    def accounting_service(self) -> str:
        return f"{self.cluster}-accounting-svc"

    @property
    def rest_service(self) -> str:
        return f"{self.cluster}-rest-svc"

    @property
    def slurm_configs(self) -> str:
        """ConfigMap and JailedConfig."""
        return f"{self.cluster}-slurm-configs"

    @property
    def ssh_configs(self) -> str:
        return f"{self.cluster}-ssh-configs"

    @property
    def ssh_configs_worker(self) -> str:
        return f"{self.cluster}-ssh-configs-worker"

    @property
    def ssh_root_keys(self) -> str:
        return f"{self.cluster}-ssh-root-keys"

    @property
    def sysctl(self) -> str:
        return f"{self.cluster}-sysctl"

    @property
    def supervisord(self) -> str:
        return f"{self.cluster}-supervisord"

    @property
    def user_isolation(self) -> str:
        return f"{self.cluster}-login-user-isolation"

    @property
    def munge(self) -> str:
        return f"{self.cluster}-munge"

    @property
    def sshd_keys(self) -> str:
        """The Secret with host keys, unless the spec names one."""
        return f"{self.cluster}-sshd-keys"

    @property
    def slurmdbd_configs(self) -> str:
        return f"{self.cluster}-slurmdbd-configs"

    @property
    def rest_jwt_key(self) -> str:
        return f"{self.cluster}-rest-jwt-key"

    @property
    def pod_monitor(self) -> str:
        return self.cluster

    @property
    def app_armor_profile(self) -> str:
        return f"soperator-cluster-{self.cluster}-ns-{self.namespace}"

    @property
    def worker_account(self) -> str:
        return f"{self.cluster}-worker-sa"

    @property
    def sconfigcontroller_account(self) -> str:
        return f"{self.cluster}-sconfigcontroller-sa"

    @property
    def sconfigcontroller_role(self) -> str:
        return f"{self.cluster}-sconfigcontroller-configmaps-role"

    @property
    def power_account(self) -> str:
        return f"{self.cluster}-power-manager-sa"

    @property
    def power_role(self) -> str:
        return f"{self.cluster}-power-manager-role"

    @property
    def activecheck_account(self) -> str:
        return f"{self.cluster}-activecheck-sa"

    @property
    def activecheck_role(self) -> str:
        return f"{self.cluster}-activecheck-role"

    @property
    def exporter_account(self) -> str:
        return f"{self.exporter}-sa"

    @property
    def exporter_role(self) -> str:
        return f"{self.exporter}-role"

    @property
    def legacy_account(self) -> str:
        return f"{self.cluster}-exporter-sa"

    @property
    def legacy_role(self) -> str:
        return f"{self.cluster}-exporter-role"

    def sssd_conf(self, of: str) -> str:
        return f"{self.cluster}-{of}-sssd-conf"

    def security_limits(self, component: str) -> str:
        return f"{self.cluster}-{component}-security-limits"

    def nodeset_limits(self, nodeset: str) -> str:
        """What `security_limits` calls a NodeSet."""
        return f"nodeset-{nodeset}"

    def nodeset_service_of(self, nodeset: str) -> str:
        return f"{self.cluster}-nodeset-{nodeset}-svc"

    def nodeset_account(self, nodeset: str) -> str:
        return f"{self.cluster}-{nodeset}-nodeset-sa"

    def nodeset_role(self, nodeset: str) -> str:
        return f"{self.cluster}-{nodeset}-nodeset-role"

    def fqdn(self, service: str) -> str:
        """A Service's DNS name, good anywhere in the Kubernetes cluster."""
        return f"{service}.{self.namespace}.svc.{self.domain}"

    def rest_url(self, port: int) -> str:
        """Where programs of the cluster find slurmrestd."""
        return f"http://{self.rest_service}.{self.namespace}.svc:{port}"


def role_binding(role: str) -> str:
    """The RoleBinding of a Role."""
    return f"{role}-binding"
