/*
 * A SPANK plugin that gives every job the shared root file system as its "/".
 *
 *     plugstack.conf: required chroot.so /mnt/jail
 *
 * It runs in slurmstepd before that opens a job's files or starts its tasks, so that paths of input, output and the
 * working directory mean what the user means by them. The step gets mounts of its own: the jail becomes their root, and
 * what was the root is detached. Steps that are no user's (extern) stay where they are. A step that cannot be put into
 * the jail fails: it must not run outside.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <slurm/slurm.h>
#include <slurm/spank.h>

SPANK_PLUGIN(chroot, 1)

#define OLD_ROOT "mnt/host"

static int failed(const char *what, const char *jail)
{
	slurm_error("chroot: %s %s: %s", what, jail, strerror(errno));
	return ESPANK_ERROR;
}

static int is_of_a_user(spank_t spank)
{
	uint32_t step;

	if (spank_get_item(spank, S_JOB_STEPID, &step) != ESPANK_SUCCESS)
		return 1;
	return step <= SLURM_MAX_NORMAL_STEP_ID || step == SLURM_BATCH_SCRIPT || step == SLURM_INTERACTIVE_STEP;
}

static int enter(const char *jail)
{
	if (unshare(CLONE_NEWNS))
		return failed("no mounts of its own for", jail);
	/* What the host mounts later still arrives; what the job mounts stays with it. */
	if (mount(NULL, "/", NULL, MS_SLAVE | MS_REC, NULL))
		return failed("cannot part the mounts from those of", jail);
	if (chdir(jail))
		return failed("cannot go to", jail);
	mkdir("mnt", 0755);
	mkdir(OLD_ROOT, 0555);
	if (syscall(SYS_pivot_root, ".", OLD_ROOT))
		return failed("cannot make a root of", jail);
	if (chdir("/") || umount2("/" OLD_ROOT, MNT_DETACH))
		return failed("cannot leave the old root for", jail);
	if (access("/proc/self", F_OK) && mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL))
		return failed("no /proc in", jail);
	return ESPANK_SUCCESS;
}

int slurm_spank_init_post_opt(spank_t spank, int count, char **arguments)
{
	if (spank_context() != S_CTX_REMOTE || !is_of_a_user(spank))
		return ESPANK_SUCCESS;
	if (count != 1) {
		slurm_error("chroot: plugstack.conf must give one argument, the path of the jail, not %d", count);
		return ESPANK_BAD_ARG;
	}
	return enter(arguments[0]);
}
