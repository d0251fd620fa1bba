"""sssd.conf for whoever names none: it serves the users of the container's own files, and is there to edit.

Only an administrator knows the directory service. Without any domain sssd does not start.
"""

from slurmery.nebius.config import words


def sssd_conf() -> str:
    """The file that an administrator begins with."""
    return words.file(
        [
            "# Made once and never touched again: put the domain of your directory service here.",
            "[sssd]",
            "services = nss, pam, ssh",
            "domains = local",
            "",
            "[domain/local]",
            "id_provider = proxy",
            "proxy_lib_name = files",
            "auth_provider = none",
            "access_provider = permit",
            "",
        ]
    )
