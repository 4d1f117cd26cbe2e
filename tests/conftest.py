"""For all tests of the project."""

import os
import signal
import tempfile
from collections.abc import Callable, Generator
from pathlib import Path

import pytest

from agentgauge.core.features import features
from tests import vectors
from tests.ray_cluster import Cluster, shared_cluster

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # so it is in a background job of a shell, and the runs that tests start and interrupt would inherit it
    signal.signal(signal.SIGINT, signal.default_int_handler)

PLUGINS = {plugin.name for plugin in features()}
MARKERS = {
    "slow": "starts processes or takes more than a tenth of a second; `make check` leaves it out",
    "heavy": "needs torch, Ray, a browser or an environment of its own, or starts many whole runs: `make test-heavy`",
    "long": "the long form of a test: `pytest tests -m long`",
    "uses(*plugins)": "the test needs these plugins of AgentGauge; it is left out where the folder of one is deleted",
    "vector(file, place)": "the test holds one case of a file of golden vectors, which is counted",
}
# Folders and files whose tests all have a marker; in the others, files and tests name it themselves.
SLOW = ("plugin", "fetch", "sandbox", "faults", "packaging", "run_folders", "launch", "tools")
HEAVY = (
    # torch, and models that it trains
    "tools/test_detection.py", "tools/test_detection_offline.py", "tools/test_generate.py", "tools/test_speech.py",
    "tools/test_vision.py", "gta/test_similarity_device.py",
    # Ray
    "launch",
    # a browser
    "reports/test_compare_browser.py", "plugins/allure/test_dashboard.py", "plugins/page/test_page_browser.py",
    "plugins/view/test_view_browser.py",
    # environments of their own
    "docs/test_site.py", "plugin/test_beside.py", "gta/test_frameworks.py", "plugins/agents/test_frameworks.py",
    # whole runs: several at a time, with faults, full disks, kills and crashes, of examples and checkouts
    "plugins/batch/test_models.py", "plugins/batch/test_runs.py", "plugins/budget/test_bill.py",
    "plugins/ci/test_job_summary.py",
    "docs/test_example_benchmark.py", "plugins/agents/test_killed.py", "plugins/agents/test_run.py",
    "plugins/own_tests/test_own_outcomes.py", "faults", "mmau/test_busy_machine.py",
    "packaging/test_examples.py", "packaging/test_made_up_package.py", "packaging/test_new_benchmark.py",
    "parity/test_any_vectors.py", "plugin/test_checkout.py", "plugin/test_ci.py", "plugin/test_crashes.py",
    "plugin/test_faults.py", "plugin/test_full_disk.py", "plugin/test_installed.py", "plugin/test_judges.py",
    "plugin/test_kills.py", "plugin/test_mmau.py", "plugin/test_only_looking.py", "plugin/test_outages.py",
    "plugin/test_same_result.py", "plugin/test_scoring.py",
    "plugins/progress/test_progress.py", "plugin/test_worker_count.py",
    "plugin/test_secrets.py", "plugin/test_services.py", "plugin/test_stopping.py", "plugin/test_vision.py",
    "plugin/test_wild.py", "plugin/test_workflow.py",
    "plugins/allure/test_own.py", "plugins/allure/test_runs.py", "plugins/shards/test_runs.py",
    "reports/test_export_gold.py",
    "scaling", "several", "short_form/test_short_task.py", "tools/test_faults.py", "wild/generate/test_command.py",
    # programs that run into the limits of the sandbox
    "mmau/test_contests_hostile.py", "sandbox/test_watcher.py",
)  # fmt: skip


@pytest.hookimpl(tryfirst=True)  # before Hypothesis's plugin, which chooses one of the profiles
def pytest_configure(config: pytest.Config) -> None:
    tests, here = Path(__file__).parent, config.invocation_params.dir
    paths = [(here / word.partition("::")[0]).resolve() for word in config.args]
    if not any(path.is_relative_to(tests) or tests.is_relative_to(path) for path in paths):
        return  # a run of the benchmarks, for which pytest may load this file: it looks into folders test*
    try:
        from hypothesis import settings
    except ImportError:
        raise pytest.UsageError("the project's own tests need Hypothesis; `make test` installs it") from None
    settings.register_profile("dev", max_examples=50, deadline=None)
    settings.register_profile("ci", max_examples=200, deadline=None, derandomize=True, database=None)
    settings.load_profile("dev")  # `--hypothesis-profile=ci` takes the other
    if not hasattr(config, "workerinput"):  # all workers of a run share it
        folder = tempfile.TemporaryDirectory(prefix="agentgauge-tests-")
        config.add_cleanup(folder.cleanup)
        os.environ["XDG_CACHE_HOME"] = folder.name  # nothing kept from before the tests is used
    for name, text in MARKERS.items():
        config.addinivalue_line("markers", f"{name}: {text}")


@pytest.hookimpl(tryfirst=True)  # before pytest's own selection by ``-m``
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Marks the tests of whole folders and files."""
    tests = Path(__file__).parent
    for item in items:
        if item.path.is_relative_to(tests):
            path = item.path.relative_to(tests)
            places = {path.as_posix(), path.parts[0]}
            for name, marked in (("slow", SLOW), ("heavy", HEAVY)):
                if not places.isdisjoint(marked):
                    item.add_marker(name)
            if path.parts[0] == "plugins" and path.parts[1] in PLUGINS:
                item.add_marker(pytest.mark.uses(path.parts[1]))
            if lacking := {name for mark in item.iter_markers("uses") for name in mark.args} - PLUGINS:
                item.add_marker(pytest.mark.skip(f"the plugin {min(lacking)} is deleted"))


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
