"""The first step of every process of the daemon."""

from fakes.jailed import outcomes

IMPORT = "from thinker.jail.hardening import harden_process, is_hardened\n"
HARDEN = IMPORT + "lacking = harden_process()"


def test_hardened_process_dumps_no_core_and_knows_that_it_is_hardened() -> None:
    """The kernel itself is asked, so an inherited or lost attribute shows."""
    tries = {
        "before": "assert is_hardened()",
        "core": "import resource; assert resource.getrlimit(resource.RLIMIT_CORE) == (0, 0)",
        "lacking": "assert not set(lacking) - {'PR_SET_MDWE'}",
    }
    assert set(outcomes(HARDEN, tries).values()) == {"done"}


def test_other_process_of_the_same_ordinary_user_cannot_read_a_hardened_one() -> None:
    """Neither its environment nor its descriptors; what everybody may know stays readable."""
    user = "os.getuid() or (os.setgid(65534), os.setuid(65534))\n"
    jail = (
        "from thinker.jail.kernel import prctl\n" + IMPORT + user + "harden_process()"
        "\nhardened_process = os.getpid()\n"
        "if child := os.fork():\n"
        "    sys.stdout.flush(); os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
        "prctl(4, 1)"  # it could be read itself
    )
    tries = {
        name: f"open(f'/proc/{{hardened_process}}/{name}').close()"
        for name in ("environ", "mem", "maps", "stat")
    }
    tries["fd"] = "os.listdir(f'/proc/{hardened_process}/fd')"
    found = outcomes(jail, tries)
    assert found.pop("stat") == "done"
    assert set(found.values()) == {"EACCES"}


def test_foreign_functions_work_after_hardening() -> None:
    """Memory that gains the right to execute is refused; calls and callbacks of ctypes are not."""
    tries = {
        "call": "ctypes.CDLL(None).getpid()",
        "callback": "ctypes.CFUNCTYPE(ctypes.c_int)(lambda: 7)() == 7 or 1 / 0",
    }
    assert set(outcomes(HARDEN, tries).values()) == {"done"}


def test_missing_features_are_named_and_do_not_raise() -> None:
    """As on a kernel whose prctl knows none of the attributes."""
    jail = (
        "from thinker.jail import seccomp\n"
        "seccomp.install_filter(seccomp.build_filter((), missing=['prctl']))\n"
        "from thinker.jail.hardening import harden_process, is_hardened; lacking = harden_process()"
    )
    tries = {
        "named": "assert lacking == ('PR_SET_DUMPABLE', 'no_new_privs', 'PR_SET_MDWE')",
        "not hardened": "assert not is_hardened()",
    }
    assert set(outcomes(jail, tries).values()) == {"done"}
