"""What every test session shares: the table of worst errors at its end, with -v."""

import os

# before NumPy is there: its threads gain nothing on small matrices and wait for each other
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from support.compare import WORST


def pytest_terminal_summary(terminalreporter):
    if not WORST or terminalreporter.verbosity < 1:
        return
    terminalreporter.section("worst errors, as part of the largest entry")
    for (kind, field), (share, error, where) in sorted(WORST.items()):
        terminalreporter.write_line(
            f"{kind:24} {field:22} {error:8.1e}  {share:8.1e} of the tolerance  {where}"
        )
