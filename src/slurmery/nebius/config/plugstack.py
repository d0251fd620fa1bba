"""plugstack.conf: the SPANK plugins of every job."""

from typing import Final

from slurmery.api.nebius.configuration import CustomPlugin, NcclDebug, NcclInspector, Pyxis
from slurmery.nebius import names
from slurmery.nebius.cluster import Cluster
from slurmery.nebius.config import words
from slurmery.nebius.config.words import word

_PYXIS: Final = "runtime_path=/run/pyxis execute_entrypoint=0 container_scope=global sbatch_support=1"


def plugstack_conf(cluster: Cluster) -> str:
    """The file."""
    given = cluster.spec.plug_stack_config
    lines = [
        f"required chroot.so {names.JAIL_DIR}",
        _pyxis(given.pyxis, old=cluster.is_1_22),
        _nccl_debug(given.nccl_debug),
        *(_custom(index, plugin) for index, plugin in enumerate(given.custom_plugins)),
    ]
    if not cluster.is_1_22:
        lines.insert(3, _nccl_inspector(given.nccl_inspector_pre_conf))
    return words.file([*(() if cluster.is_1_22 else words.MANAGED), *lines])


def _need(*, required: bool) -> str:
    return "required" if required else "optional"


def _pyxis(pyxis: Pyxis, *, old: bool) -> str:
    if old:
        save = word("plugStackConfig.pyxis.containerImageSave", pyxis.container_image_save)
        images = f"container_image_save={save}"
    else:
        importer = word("plugStackConfig.pyxis.importerPath", pyxis.importer_path)
        images = f"importer={importer} use_squashfuse={pyxis.use_squashfuse:d}"
    return f"{_need(required=pyxis.required)} spank_pyxis.so {_PYXIS} {images}"


def _nccl_debug(nccl: NcclDebug) -> str:
    directory = word("plugStackConfig.ncclDebug.outputDirectory", nccl.output_directory)
    return (
        f"{_need(required=nccl.required)} spanknccldebug.so enabled={nccl.enabled:d}"
        f" log-level={nccl.log_level} out-file={nccl.output_to_file:d} out-dir={directory}"
        f" out-stdout={nccl.output_to_std_out:d}"
    )


def _nccl_inspector(nccl: NcclInspector) -> str:
    field = "plugStackConfig.ncclInspectorPreConf"
    return (
        f"{_need(required=nccl.required)} spank_nccl_inspector_preconf.so enabled={nccl.enabled:d}"
        f" profiler-plugin={word(f'{field}.profilerPlugin', nccl.profiler_plugin)}"
        f" dump-dir={word(f'{field}.dumpDir', nccl.dump_dir)} dump-verbose={nccl.dump_verbose:d}"
        f" dump-thread-interval-microseconds={nccl.dump_thread_interval_microseconds}"
    )


def _custom(index: int, plugin: CustomPlugin) -> str:
    field = f"plugStackConfig.customPlugins[{index}]"
    # Sorted, so that the file is the same however the map was read.
    arguments = [
        f"{word(f'{field}.arguments', name)}={word(f'{field}.arguments.{name}', value)}"
        for name, value in sorted(plugin.arguments.items())
    ]
    return " ".join([_need(required=plugin.required), word(f"{field}.path", plugin.path), *arguments])
