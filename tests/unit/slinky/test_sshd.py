import pytest
from hypothesis import given
from hypothesis import strategies as st

from slurmery.slinky import sshd
from slurmery.slurmconf.text import TextError

OPTIONS = [sshd.INCLUDE, sshd.USE_PAM, sshd.X11, sshd.SFTP]


def settings(extra: str) -> list[str]:
    return [line for line in sshd.config(OPTIONS, extra).splitlines() if not line.startswith("#")]


def test_our_options_come_first_and_the_users_text_last() -> None:
    assert sshd.config(OPTIONS, "LogLevel DEBUG\n") == (
        "#\n### GENERAL ###\n"
        "Include /etc/ssh/sshd_config.d/*.conf\nUsePAM yes\nX11Forwarding yes\nSubsystem sftp internal-sftp\n"
        "#\n### EXTRA CONFIG ###\nLogLevel DEBUG\n"
    )


@pytest.mark.parametrize("extra", ["X11Forwarding no", "x11forwarding=no", "\tX11Forwarding\tno  # off"])
def test_an_option_that_the_user_sets_is_the_users_since_sshd_takes_the_first(extra: str) -> None:
    assert "X11Forwarding yes" not in settings(extra)
    assert "UsePAM yes" in settings(extra)


@pytest.mark.parametrize(
    "extra",
    ["Match User bob\n  X11Forwarding no", "# X11Forwarding no", "Include /etc/ssh/more", "Subsystem x y"],
)
def test_an_option_for_some_or_of_another_name_leaves_ours(extra: str) -> None:
    assert settings(extra)[:4] == settings("")


def test_control_characters_are_refused() -> None:
    with pytest.raises(TextError):
        sshd.config(OPTIONS, "A \x00")


@given(st.text())
def test_no_text_gets_before_our_options(extra: str) -> None:
    try:
        written = sshd.config(OPTIONS, extra)
    except TextError:
        return
    ours, _, theirs = written.partition("#\n### EXTRA CONFIG ###\n")
    allowed = {f"{name} {value}" for name, value in OPTIONS} | {"#", "### GENERAL ###", ""}
    assert set(ours.split("\n")) <= allowed
    assert theirs.rstrip("\n") == (extra.rstrip("\n") if extra.strip() else "")
