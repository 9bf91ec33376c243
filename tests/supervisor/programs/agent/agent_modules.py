"""Makes the package of the agent importable for the tests of this folder, and builds what several of them need."""
import os
import pathlib
import sys

TOP = pathlib.Path(__file__).resolve().parents[4]
sys.path.insert(0, str(TOP / "supervisor/programs"))

from agent.settings import Arguments  # noqa: E402

NO_FLAGS = {name: "" for name in Arguments.__dataclass_fields__}


def arguments(**flags):
    return Arguments(**{**NO_FLAGS, "model": "test-model", **flags})


def only_environment(case, **variables):
    """The environment of this process has these variables alone until the test ends."""
    before = dict(os.environ)
    os.environ.clear()
    os.environ.update(variables)

    def restore():
        os.environ.clear()
        os.environ.update(before)
    case.addCleanup(restore)
