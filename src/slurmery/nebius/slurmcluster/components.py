"""The components of a cluster: which objects each consists of, and what keeps it from being built.

What is wrong with one component is that component's problem: the others are built all the same.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from slurmery.doors import hashes
from slurmery.doors.conditions import Problem
from slurmery.kube.desired import Desired
from slurmery.kube.meta import Resource
from slurmery.kube.resources import DEPLOYMENTS
from slurmery.nebius import names, sets
from slurmery.nebius.accounting import build as slurmdbd
from slurmery.nebius.accounting import database, mariadb
from slurmery.nebius.apparmor import app_armor_profile
from slurmery.nebius.cluster import Cluster
from slurmery.nebius.config.slurmdbd import client_certificate, database_password, slurmdbd_conf
from slurmery.nebius.configmaps import build as files
from slurmery.nebius.controller import build as slurmctld
from slurmery.nebius.directory import configuration
from slurmery.nebius.errors import SecretError, SpecError
from slurmery.nebius.exporter import build as exporter
from slurmery.nebius.exporter import legacy
from slurmery.nebius.kinds import MARIADBS
from slurmery.nebius.login import build as login
from slurmery.nebius.nodeset import build as nodeset
from slurmery.nebius.rest import build as slurmrestd
from slurmery.nebius.sconfigcontroller import build as sconfigcontroller
from slurmery.nebius.secrets import build as keys
from slurmery.nebius.slurmcluster.observed import Observed
from slurmery.nebius.topology.places import topology_conf
from slurmery.nebius.worker import build as worker
from slurmery.slurmconf.text import TextError


@dataclass(frozen=True)
class Component:
    """A part of the cluster; `workload` is where its pods are counted, and `wanted` how many they should be.

    One that is switched off wants nothing and has no objects.
    """

    name: str
    desired: tuple[Desired, ...] = ()
    problems: tuple[Problem, ...] = ()
    workload: tuple[Resource, str] | None = None
    wanted: int = 0
    enabled: bool = True


# The plugins that read topology.conf.
_DRAWN: Final = ("topology/tree", "topology/block")

Built = Callable[[Cluster, Observed, "Versions"], Component]


class Versions:
    """Hashes of what pods read only when they start: of what we are about to write, or of what is there."""

    def __init__(self, observed: Observed) -> None:
        self._observed = observed

    def secrets(self, *wanted: str) -> dict[str, str]:
        """Of Secrets; one that does not exist yet has none, and its hash comes when it does."""
        found = ((name, self._observed.secrets.get(name)) for name in wanted)
        return {name: hashes.of_map(content) for name, content in found if content}

    def config_maps(self, *wanted: Desired | str | None) -> dict[str, str]:
        """Of ConfigMaps that we make, or that the user has by a name of his own."""
        versions = {}
        for one in wanted:
            if isinstance(one, Desired):
                versions[one.key.name] = hashes.of_map(one.manifest["data"])
            elif one and (content := self._observed.config_maps.get(one)):
                versions[one] = hashes.of_map(content)
        return versions


def components(cluster: Cluster, observed: Observed) -> tuple[Component, ...]:
    """All of them, in the order in which they depend on each other."""
    made = (
        ("common", _common),
        (names.ACCOUNTING, _accounting),
        (names.WORKER, _worker) if cluster.is_1_22 else (names.NODESET, _nodesets),
        (names.SCONFIGCONTROLLER, _sconfigcontroller),
        (names.CONTROLLER, _controller),
        (names.LOGIN, _login),
        (names.REST, _rest),
        (names.EXPORTER, _exporter),
    )
    versions = Versions(observed)
    return tuple(_attempt(name, build, cluster, observed, versions) for name, build in made)


def _attempt(name: str, build: Built, cluster: Cluster, observed: Observed, versions: Versions) -> Component:
    try:
        made = build(cluster, observed, versions)
    except SecretError as error:
        return Component(name, problems=(Problem("SecretNotReady", f"{error}."),))
    except SpecError as error:
        return Component(name, problems=(Problem("InvalidSpec", f"{error}."),))
    except TextError as error:
        return Component(name, problems=(Problem("InvalidValue", f"{error}."),))
    if made.workload and made.workload[0] == sets.KRUISE and not observed.offers(sets.KRUISE):
        return replace(made, problems=(*made.problems, sets.MISSING))
    return made


def _common(cluster: Cluster, observed: Observed, _: Versions) -> Component:
    found: list[Desired] = [*files.slurm_configs(cluster, files.slurm_files(cluster))]
    # slurmctld does not start without the file; where nobody knows the network, all stand at one switch.
    if cluster.spec.slurm_config.topology_plugin in _DRAWN and not observed.topology_kept:
        workers = observed.workers.workers if observed.workers else ()
        registered = [each.pod for each in workers if each.registered_once]
        found += files.topology(cluster, topology_conf(cluster, {}, {}, registered))
    fresh = observed.fresh
    if fresh.munge_key:
        found.append(keys.munge_key(cluster, fresh.munge_key))
    if fresh.jwt_key:
        found.append(keys.rest_jwt_key(cluster, fresh.jwt_key))
    if fresh.host_keys:
        found.append(keys.sshd_keys(cluster, fresh.host_keys))
    found += [keys.mariadb_password(cluster, name, value) for name, value in fresh.passwords.items()]
    if cluster.spec.use_default_app_armor_profile:
        found.append(app_armor_profile(cluster))
    return Component("common", tuple(found))


def _accounting(cluster: Cluster, observed: Observed, versions: Versions) -> Component:
    given, at = cluster.spec.slurm_nodes.accounting, cluster.names
    if not given.enabled:
        return Component(names.ACCOUNTING, enabled=False)
    workload = (DEPLOYMENTS, at.accounting)
    store = () if given.external_db.enabled else _database(cluster, observed, versions)
    # The database is built also while its password, which others may make, is not there.
    try:
        config = _slurmdbd_conf(cluster, observed)
    except SecretError as error:
        problem = Problem("SecretNotReady", f"{error}.")
        return Component(names.ACCOUNTING, store, (problem,), workload, cluster.replicas(1))
    hashed = {
        **versions.secrets(at.munge, *_external_secrets(cluster)),
        at.slurmdbd_configs: hashes.of_value(config),
    }
    found = (
        *store,
        slurmdbd.config_secret(cluster, config),
        slurmdbd.service(cluster),
        slurmdbd.deployment(cluster, hashed),
    )
    return Component(names.ACCOUNTING, found, (), workload, cluster.replicas(1))


def _database(cluster: Cluster, observed: Observed, versions: Versions) -> tuple[Desired, ...]:
    if observed.offers(MARIADBS):
        return mariadb.mariadb(cluster), mariadb.database(cluster), mariadb.grant(cluster)
    hashed = versions.secrets(names.MARIADB_ROOT)
    return database.service(cluster), database.stateful_set(cluster, hashed)


def _slurmdbd_conf(cluster: Cluster, observed: Observed) -> str:
    external = cluster.spec.slurm_nodes.accounting.external_db
    ref = external.password_secret_key_ref if external.enabled else None
    name = ref.name if ref else names.MARIADB_PASSWORD
    if external.enabled and external.tls and external.tls.client_cert_secret_ref:
        secret = external.tls.client_cert_secret_ref
        client_certificate(secret, observed.secrets.get(secret))
    return slurmdbd_conf(cluster, database_password(cluster, observed.secrets.get(name)))


def _external_secrets(cluster: Cluster) -> tuple[str, ...]:
    external = cluster.spec.slurm_nodes.accounting.external_db
    if not external.enabled or external.tls is None:
        return ()
    named = (external.tls.server_ca_secret_ref, external.tls.client_cert_secret_ref)
    return tuple(name for name in named if name)


def _worker(cluster: Cluster, observed: Observed, versions: Versions) -> Component:
    given, at = cluster.spec.slurm_nodes.worker, cluster.names
    if given is None:
        return Component(names.WORKER, enabled=False)
    sshd, supervisord = files.worker_sshd(cluster), files.worker_supervisord(cluster)
    hashed = {
        **versions.secrets(at.munge),
        **versions.config_maps(sshd or given.sshd_config_map_ref_name),
        **versions.config_maps(supervisord or given.supervisord_config_map_ref_name),
    }
    wanted = 0 if cluster.stopped else given.size
    replicas = wanted if observed.workers is None else observed.workers.replicas
    found = (
        files.worker_sysctl(cluster),
        *(one for one in (sshd, supervisord) if one),
        files.security_limits(cluster, names.WORKER, given.slurmd.security_limits_config),
        worker.service_account(cluster),
        worker.service(cluster),
        worker.stateful_set(cluster, replicas, hashed),
    )
    return Component(names.WORKER, found, (), (cluster.sets, at.worker), wanted)


def _nodesets(cluster: Cluster, _: Observed, __: Versions) -> Component:
    """What the NodeSets of a cluster share."""
    sshd, supervisord = files.worker_sshd(cluster), files.worker_supervisord(cluster)
    shared = (nodeset.umbrella_service(cluster), *(one for one in (sshd, supervisord) if one))
    return Component(names.NODESET, shared)


def _sconfigcontroller(cluster: Cluster, _: Observed, __: Versions) -> Component:
    found = (*sconfigcontroller.access(cluster), sconfigcontroller.deployment(cluster))
    given = cluster.spec.s_config_controller
    wanted = cluster.replicas(given.node.size if given and given.node else 0)
    workload = (DEPLOYMENTS, cluster.names.sconfigcontroller)
    return Component(names.SCONFIGCONTROLLER, found, (), workload, wanted)


def _controller(cluster: Cluster, _: Observed, versions: Versions) -> Component:
    at, given = cluster.names, cluster.spec.slurm_nodes.controller
    limits, made = given.slurmctld.security_limits_config, at.sssd_conf(names.CONTROLLER)
    beside = (slurmctld.placeholder(cluster), slurmctld.service_monitor(cluster))
    found = (
        files.security_limits(cluster, names.CONTROLLER, limits),
        *slurmctld.access(cluster),
        *configuration(cluster, given.sssd is not None, given, names.CONTROLLER, made),
        slurmctld.service(cluster),
        slurmctld.stateful_set(cluster, versions.secrets(at.munge)),
        *(each for each in beside if each),
    )
    return Component(names.CONTROLLER, found, (), (cluster.sets, at.controller), cluster.replicas(1))


def _login(cluster: Cluster, observed: Observed, versions: Versions) -> Component:
    given, at = cluster.spec.slurm_nodes.login, cluster.names
    # Pods from before must be sent away; where there never were any, there is nothing to make.
    if given.size == 0 and (cluster.sets, at.login) not in observed.rollouts:
        return Component(names.LOGIN, enabled=False)
    sshd, root_keys = files.login_sshd(cluster), files.root_keys(cluster)
    hashed = {
        **versions.secrets(at.munge),
        **versions.config_maps(sshd or given.sshd_config_map_ref_name, root_keys),
    }
    made = at.sssd_conf(names.LOGIN)
    found = (
        *([sshd] if sshd else ()),
        *([files.user_isolation(cluster)] if login.isolated(cluster) else ()),
        *configuration(cluster, given.sssd is not None, given, names.LOGIN, made),
        root_keys,
        files.security_limits(cluster, names.LOGIN, given.sshd.security_limits_config),
        login.service(cluster),
        login.headless_service(cluster),
        login.stateful_set(cluster, hashed),
    )
    return Component(names.LOGIN, found, (), (cluster.sets, at.login), cluster.replicas(given.size))


def _rest(cluster: Cluster, _: Observed, versions: Versions) -> Component:
    given, at = cluster.spec.slurm_nodes.rest, cluster.names
    if not given.enabled:
        return Component(names.REST, enabled=False)
    hashed = versions.secrets(at.rest_jwt_key)
    found = (slurmrestd.service(cluster), slurmrestd.deployment(cluster, hashed))
    return Component(names.REST, found, (), (DEPLOYMENTS, at.rest), cluster.replicas(given.size))


def _exporter(cluster: Cluster, _: Observed, __: Versions) -> Component:
    if not cluster.spec.slurm_nodes.exporter.enabled:
        return Component(names.EXPORTER, enabled=False)
    if legacy.chosen(cluster):
        old = (*legacy.access(cluster), legacy.deployment(cluster), exporter.pod_monitor(cluster))
        return Component(names.EXPORTER, old, (), (DEPLOYMENTS, names.EXPORTER), cluster.replicas(1))
    found = (*exporter.access(cluster), exporter.deployment(cluster), exporter.pod_monitor(cluster))
    workload = (DEPLOYMENTS, cluster.names.exporter)
    return Component(names.EXPORTER, found, (), workload, cluster.replicas(1))
