"""For all tests of the project."""

import os
import signal
import tempfile
from collections.abc import Callable, Generator
from pathlib import Path

import pytest

from tests import vectors
from tests.ray_cluster import Cluster, shared_cluster

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # so it is in a background job of a shell, and the runs that tests start and interrupt would inherit it
    signal.signal(signal.SIGINT, signal.default_int_handler)

MARKERS = {
    "e2e": "starts processes: pytest inside pytest, servers, sandboxes",
    "slow": "a file that takes seconds",
    "faults": "the long form of a fault test; `make faults` runs it, `make test` does not",
    "vector(file, place)": "the test holds one case of a file of golden vectors, which is counted",
}
# Markers of whole folders; in the others, files and tests name their own.
FOLDERS = {
    "plugin": "e2e",
    "fetch": "e2e",
    "sandbox": "e2e",
    "faults": "e2e",
    "packaging": "e2e",
    "run_folders": "e2e",
    "launch": "e2e",
    "tools": "slow",
}


@pytest.hookimpl(tryfirst=True)  # before Hypothesis's plugin, which chooses one of the profiles
def pytest_configure(config: pytest.Config) -> None:
    tests, here = Path(__file__).parent, config.invocation_params.dir
    paths = [(here / word.partition("::")[0]).resolve() for word in config.args]
    if not any(path.is_relative_to(tests) or tests.is_relative_to(path) for path in paths):
        return  # a run of the benchmarks, for which pytest may load this file: it looks into folders test*
    try:
        from hypothesis import settings
    except ImportError:
        raise pytest.UsageError("the project's own tests need Hypothesis; `make test` installs all they need") from None
    settings.register_profile("dev", max_examples=50, deadline=None)
    settings.register_profile("ci", max_examples=200, deadline=None, derandomize=True, database=None)
    settings.load_profile("dev")  # `--hypothesis-profile=ci` takes the other
    if not hasattr(config, "workerinput"):  # all workers of a run share it
        folder = tempfile.TemporaryDirectory(prefix="agentgauge-tests-")
        config.add_cleanup(folder.cleanup)
        os.environ["XDG_CACHE_HOME"] = folder.name  # no digest or index from before the tests is used
    for name, text in MARKERS.items():
        config.addinivalue_line("markers", f"{name}: {text}")


@pytest.hookimpl(tryfirst=True)  # before pytest's own selection by ``-m``
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Marks the tests of whole folders, and leaves the long forms out where ``-m`` does not name them."""
    tests = Path(__file__).parent
    for item in items:
        if item.path.is_relative_to(tests) and (name := FOLDERS.get(item.path.relative_to(tests).parts[0])):
            item.add_marker(name)
    if "faults" in (config.option.markexpr or ""):
        return
    left_out = [item for item in items if item.get_closest_marker("faults")]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if not item.get_closest_marker("faults")]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    vectors.mark_report(item, report)
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """How many golden vectors of each file held, where tests have read some."""
    for line in vectors.lines(report for reports in terminalreporter.stats.values() for report in reports):
        terminalreporter.write_line(line)


@pytest.fixture(scope="session")
def ray_cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Cluster:
    """A Ray cluster on this machine, which all tests of a run share, in all of its processes."""
    pytest.importorskip("ray", reason="the extra ray is not installed")
    folder = tmp_path_factory.getbasetemp()
    if hasattr(request.config, "workerinput"):
        return shared_cluster(folder.parent, os.getppid())
    return shared_cluster(folder, os.getpid())


@pytest.fixture
def own_secrets(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Registers secrets of the test; those that other tests have registered are unknown until it ends."""
    from agentgauge.core.redaction import register

    monkeypatch.setattr("agentgauge.core.redaction._known", ())
    return register
