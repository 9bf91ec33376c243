"""The hostile programs, and attacks on the channel to the daemon, against the package's daemon, whose jails have cgroups
here: tests/hostile/starts_test.py."""
import sys

from suite.warder import LANE, CgroupDaemon

sys.path.insert(0, "/tests/hostile")
import starts_test  # noqa: E402
from starts_test import Cold, Exec, Fork, Session  # noqa: E402, F401


def make_daemon(cls, **policy):
    daemon = CgroupDaemon(**policy)
    daemon.environment = starts_test.ENVIRONMENT
    return daemon


starts_test.EveryStart.make_daemon = classmethod(make_daemon)
if LANE == "uml":
    starts_test.PROGRAMS.pop("i386_calls")  # user-mode Linux has no such calls: there `int 0x80` is a call of x86-64
