"""The contracts of the upstream programs, written down from their documentation and not from our code."""

import pytest

from slurmery.cli.flags import Setting, UsageError, read, table
from slurmery.cli.programs import PROGRAMS, Program, linked
from slurmery.cli.start import elsewhere
from slurmery.cli.usage import reference, usage

PROGRAM = {program.name: program for program in PROGRAMS}

SERVING = {
    "metrics-bind-address": ":8080",
    "health-probe-bind-address": ":8081",
    "metrics-secure": "false",
    "enable-http2": "false",
    "log-format": "json",
}
SLINKY = {
    "health-addr": ":8081",
    "metrics-secure": "false",
    "enable-http2": "false",
    "leader-elect-namespace": "",
    "namespaces": "",
    "kubeconfig": "",
    "zap-devel": "false",
    "zap-encoder": "json",
    "zap-log-level": "info",
    "zap-stacktrace-level": "",
    "zap-time-encoding": "rfc3339",
}
# By the name that a program is started by: its flags with their defaults.
FLAGS: dict[str, dict[str, str]] = {
    "operator": {
        **SERVING,
        "log-level": "debug",
        "leader-elect": "true",
        "operator-namespace": "",
        "enable-topology-controller": "false",
        "max-concurrent-reconciles": "1",
        "cache-sync-timeout": "2m",
        "reconcile-timeout": "3m",
        "controllers": "",
    },
    "slurm_operator": {
        **SERVING,
        "log-level": "info",
        "leader-elect": "true",
        "operator-namespace": "",
        "cache-sync-timeout": "2m",
        "max-concurrent-reconciles": "1",
        "enable-topology-controller": "false",
        "controllers": "",
    },
    "manager": {
        **SLINKY,
        "accounting-workers": "1",
        "controller-workers": "1",
        "loginset-workers": "1",
        "nodeset-workers": "1",
        "restapi-workers": "1",
        "slurmclient-workers": "1",
        "token-workers": "1",
        "leader-elect": "false",
        "metrics-addr": ":8080",
        "propagated-node-conditions": "",
        "profile": "false",
        "profile-addr": "localhost:6060",
    },
    "webhook": {**SLINKY, "leader-elect": "false", "metrics-addr": "0", "server-addr": ":9443"},
    "checks": {
        **SERVING,
        "log-level": "debug",
        "leader-elect": "false",
        "reconcile-timeout": "3m",
        "max-concurrent-reconciles": "1",
        "cache-sync-timeout": "2m",
        "enable-node-replacement": "true",
        "not-ready-timeout": "15m",
        "delete-not-ready-nodes": "true",
        "requeue-after-slurm-nodes": "3m",
        "requeue-after-activecheck": "10s",
        "requeue-after-activecheckjob": "1m",
        "requeue-after-pod-ephemeral-storage-check": "1m",
        "pod-ephemeral-max-concurrent-reconciles": "10",
        "pod-ephemeral-reconcile-timeout": "15s",
        "ephemeral-storage-threshold": "85",
        "ephemeral-storage-resume-threshold": "80",
        "maintenance-condition-type": "MaintenanceScheduled,NebiusMaintenanceScheduled",
        "maintenance-ignore-node-labels": "",
        "kubelet-port": "10250",
        "kubelet-request-timeout": "10s",
        "kubelet-max-idle-conns": "1024",
        "kubelet-insecure-skip-tls-verify": "true",
        "kubelet-ca-file": "",
        "kubelet-tls-server-name": "",
        "controllers": "",
        "check-interval": "30s",
        "timeout": "10s",
        "retries": "3",
    },
    "rebooter": {**SERVING, "log-level": "debug", "reconcile-timeout": "3m", "cache-sync-timeout": "2m"},
    "sconfigcontroller": {
        **SERVING,
        "log-level": "debug",
        "leader-elect": "false",
        "max-concurrent-reconciles": "1",
        "cache-sync-timeout": "1m",
        "reconfigure-poll-interval": "20s",
        "reconfigure-wait-timeout": "1m",
        "jail-path": "/mnt/jail",
        "cluster-namespace": "default",
        "cluster-name": "soperator",
        "slurmapiserver": "http://localhost:6820",
    },
    "exporter": {
        "log-format": "json",
        "log-level": "debug",
        "metrics-bind-address": ":8080",
        "metrics-port": "8080",
        "monitoring-bind-address": ":8081",
        "health-port": "8081",
        "slurm-api-server": "http://localhost:6820",
        "cluster-namespace": "soperator",
        "collection-interval": "30s",
        "kubeconfig-path": "",
        "standalone": "false",
        "static-token": "",
        "max-collector-inflight": "1",
        "job-source": "controller",
        "accounting-jobs-lookback": "1h",
        "scontrol-path": "scontrol",
        "key-rotation-interval": "30m",
    },
    "power-manager": {"namespace": "", "timeout": "30s"},
}
REQUIRED = {"exporter": {"cluster-name"}, "power-manager": {"nodes"}, "rebooter": {"REBOOTER_NODE_NAME"}}
# By program: the variable, the setting it sets, and what it says when it is not there.
VARIABLES: dict[str, dict[str, tuple[str, object]]] = {
    "operator": {
        "ENABLE_WEBHOOKS": ("enable_webhooks", True),
        "IS_PROMETHEUS_CRD_INSTALLED": ("prometheus_crds", None),
        "IS_MARIADB_CRD_INSTALLED": ("mariadb_crds", None),
        "IS_APPARMOR_CRD_INSTALLED": ("apparmor_crds", None),
        "SLURM_OPERATOR_WATCH_NAMESPACES": ("namespaces", ()),
        "LEADER_ELECTION": ("leader_elect", True),
        "LEADER_ELECTION_ID": ("leader_election_id", "slurm-operator"),
        "OPERATOR_NAMESPACE": ("operator_namespace", ""),
        "TOPOLOGY_LABEL_PREFIX": ("topology_label_prefix", "topology.nebius.com"),
        "KUBERNETES_CLUSTER_DOMAIN": ("cluster_domain", "cluster.local"),
    },
    "checks": {
        "SLURM_OPERATOR_WATCH_NAMESPACES": ("namespaces", ()),
        "MAINTENANCE_IGNORE_NODE_LABELS": ("maintenance_ignore_node_labels", ()),
    },
    "rebooter": {"REBOOTER_EVICTION_METHOD": ("eviction_method", "evict")},
    "exporter": {"SLURM_EXPORTER_TOKEN": ("static_token", "")},
}
LEASES = {
    "operator": "slurm-operator",
    "manager": "slurm-operator",
    "slurm_operator": "e21479ae.nebius.ai",
    "webhook": "slurm-operator-webhook",
    "checks": "a22156dp.nebius.ai",
    "soperatorchecks": "a22156dp.nebius.ai",
    "sconfigcontroller": "vqeyz6ae.nebius.ai",
}
# What must be said for a program to start at all.
LEAST: dict[str, tuple[tuple[str, ...], dict[str, str]]] = {
    "exporter": (("--cluster-name=c",), {}),
    "power-manager": (("resume", "--nodes=a"), {}),
    "rebooter": ((), {"REBOOTER_NODE_NAME": "n"}),
}


def by_name(name: str) -> tuple[Program, dict[str, str]]:
    """A program by its own name or by that of a link, with the defaults it then has."""
    if name in PROGRAM:
        return PROGRAM[name], {}
    found = linked(name)
    assert found
    program, link = found
    return program, dict(link.defaults)


def settings_of(program: Program) -> dict[str, Setting]:
    return {name: setting for setting in table(program.settings) for name in setting.names}


@pytest.mark.parametrize(("name", "flag"), [(name, flag) for name, flags in FLAGS.items() for flag in flags])
def test_every_upstream_flag_is_there_with_its_default(name: str, flag: str) -> None:
    program, defaults = by_name(name)
    setting, expected = settings_of(program)[flag], FLAGS[name][flag]
    text = defaults.get(setting.field, setting.default_text)
    assert text == expected or setting.kind.read(text) == setting.kind.read(expected)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_nothing_more_is_required_than_upstream_requires(program: Program) -> None:
    required = {setting.label.removeprefix("--") for setting in table(program.settings) if setting.required}
    actions = {"resume|suspend|wait-added|wait-removed"}
    assert required - actions == REQUIRED.get(program.name, set())


@pytest.mark.parametrize(
    ("name", "variable"), [(name, variable) for name, known in VARIABLES.items() for variable in known]
)
def test_every_upstream_variable_is_there_with_its_default(name: str, variable: str) -> None:
    field, default = VARIABLES[name][variable]
    [setting] = (one for one in table(PROGRAM[name].settings) if one.flag.env == variable)
    assert (setting.field, setting.default) == (field, default)


def test_every_exporter_flag_has_a_variable() -> None:
    for setting in table(PROGRAM["exporter"].settings):
        name = setting.names[0].upper().replace("-", "_")
        assert setting.flag.env == f"SLURM_EXPORTER_{'TOKEN' if name == 'STATIC_TOKEN' else name}"


@pytest.mark.parametrize("name", LEASES)
def test_upstream_leases_keep_their_names(name: str) -> None:
    program, defaults = by_name(name)
    assert read(program.settings, (), {}, defaults=defaults).settings.leader_election_id == LEASES[name]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_each_program_accepts_the_flags_of_all_others(program: Program) -> None:
    arguments, environ = LEAST.get(program.name, ((), {}))
    foreign = elsewhere(program)
    given = [
        f"--{name}={setting.kind.write(setting.default)}"
        for name, (setting, _) in foreign.items()
        if not setting.required and setting.default_text and name not in settings_of(program)
    ]
    reading = read(program.settings, [*arguments, *given], environ, elsewhere=foreign)
    assert len(reading.notes) == len(given) > 10


def test_a_flag_of_the_checks_on_the_operator_says_where_it_acts() -> None:
    operator = PROGRAM["operator"]
    reading = read(operator.settings, ("--delete-not-ready-nodes",), {}, elsewhere=elsewhere(operator))
    assert reading.notes == (("--delete-not-ready-nodes", "acts in checks, not here"),)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_help_and_reference_tell_every_spelling_variable_and_meaning(program: Program) -> None:
    told, page = " ".join(usage(program).split()), reference(program)
    for setting in table(program.settings):
        for word in (*setting.names, setting.flag.env, setting.flag.help, setting.default_text):
            assert word in told
            assert word.replace("|", "\\|") in page
        assert setting.flag.help.endswith(".")
    assert max(map(len, usage(program).splitlines())) <= 160


def test_upstream_manifests_start_the_operator_as_they_are() -> None:
    chart: tuple[str, ...]
    chart = ("--health-probe-bind-address=:8081", "--metrics-bind-address=127.0.0.1:8080", "--leader-elect")
    program, defaults = by_name("slurm_operator")
    settings = read(
        program.settings, chart, {"SLURM_OPERATOR_WATCH_NAMESPACES": "*"}, defaults=defaults
    ).settings
    assert settings.namespaces == ()
    chart = ("--zap-log-level", "debug", "--metrics-addr", "0", "-nodeset-workers=4", "--namespaces=a, b")
    program, defaults = by_name("manager")
    settings = read(program.settings, chart, {}, defaults=defaults).settings
    assert (settings.metrics_bind_address, settings.nodeset_workers, settings.namespaces) == (
        None,
        4,
        ("a", "b"),
    )
    assert settings.log_style == ("json", "debug")


@pytest.mark.parametrize(
    ("arguments", "on"),
    [
        ((), {"cluster", "nodeconfigurator", "nodeset"}),
        (("--enable-topology-controller",), {"cluster", "nodeconfigurator", "nodeset", "topology"}),
        (("--controllers=*",), {"cluster", "nodeconfigurator", "nodeset", "topology"}),
        (("--controllers=cluster",), {"cluster"}),
    ],
)
def test_the_topology_is_kept_where_either_switch_says_so(arguments: tuple[str, ...], on: set[str]) -> None:
    settings = read(PROGRAM["operator"].settings, arguments, {}).settings
    names = ("cluster", "nodeconfigurator", "nodeset", "topology")
    assert {name for name in names if settings.reconciles(name)} == on


@pytest.mark.parametrize(
    ("name", "arguments", "environ", "words"),
    [
        ("operator", ("--controllers=clutser",), {}, "there is no clutser"),
        ("checks", ("--ephemeral-storage-resume-threshold=90",), {}, "must not be above"),
        (
            "rebooter",
            (),
            {"REBOOTER_NODE_NAME": "n", "REBOOTER_EVICTION_METHOD": "drain"},
            "REBOOTER_EVICTION_METHOD=drain is not offered",
        ),
        ("power-manager", ("resmue", "--nodes=a"), {}, "must be one of resume, suspend"),
        ("exporter", ("--cluster-name=c", "--omitted-labels=job_id"), {}, "cannot leave out job_id"),
    ],
)
def test_settings_that_cannot_work_are_refused(
    name: str, arguments: tuple[str, ...], environ: dict[str, str], words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        read(PROGRAM[name].settings, arguments, environ)
