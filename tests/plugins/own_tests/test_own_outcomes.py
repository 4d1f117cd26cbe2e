"""How each kind of end of a project's own test is stored, and what ``--resume`` does with it.

Red is what pytest counts as failed or as an error, over set-up, call and teardown. It is never stored as passed.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.plugin.project import records
from tests.plugin.test_installed import forked_in

pytestmark = pytest.mark.slow  # each runs pytest

KINDS = '''
import time, unittest
import pytest

@pytest.fixture(autouse=True)
def ours(request, model):
    """Every test of this file uses a fixture of ours."""

# -- plain

def test_passed_plain(): pass
def test_wrong_plain(): assert 1 == 2
def test_wrong_fail(): pytest.fail("no")
def test_wrong_system_exit(): raise SystemExit(0)
@pytest.mark.parametrize("number", [1, 2], ids=["passed", "wrong"])
def test_parametrized(number): assert number == 1

# -- xfail

@pytest.mark.xfail
def test_passed_xfailed(): assert False
@pytest.mark.xfail
def test_passed_xpassed(): pass
@pytest.mark.xfail(strict=True, reason="must fail")
def test_wrong_xpassed_strict(): pass
@pytest.mark.xfail(strict=True)
def test_passed_xfailed_strict(): assert False
@pytest.mark.xfail(raises=ValueError)
def test_wrong_xfail_raises_another(): raise KeyError("x")
@pytest.mark.xfail(raises=ValueError)
def test_passed_xfail_raises(): raise ValueError("x")
def test_passed_xfails_itself(): pytest.xfail("known")
@pytest.mark.xfail(run=False)
def test_none_xfail_not_run(): assert False

# -- skip

@pytest.mark.skipif(True, reason="not here")
def test_none_skipif(): pass
def test_none_skips_in_the_middle(model):
    model.complete("hello")
    pytest.skip("now")
@pytest.fixture
def skipping(): pytest.skip("in set-up")
def test_none_skips_in_setup(skipping): pass
@pytest.fixture
def skips_at_the_end():
    yield
    pytest.skip("in teardown")
def test_passed_skips_in_teardown(skips_at_the_end): pass
def test_wrong_skips_in_teardown(skips_at_the_end): assert False

# -- fixtures

@pytest.fixture
def broken_setup(): raise RuntimeError("set-up")
def test_broken_setup(broken_setup): pass
@pytest.fixture
def broken_teardown():
    yield
    raise RuntimeError("teardown")
def test_broken_teardown(broken_teardown): pass
def test_wrong_and_teardown(broken_teardown): assert False
@pytest.mark.xfail
def test_passed_xfail_in_teardown(broken_teardown): assert False
def test_broken_finalizer(request): request.addfinalizer(lambda: 1 / 0)

@pytest.fixture(scope="class")
def broken_class():
    yield
    raise RuntimeError("teardown of the class")
class TestClass:
    def test_passed_first_of_class(self, broken_class): pass
    def test_broken_last_of_class(self, broken_class): pass
class TestXunit:
    def teardown_method(self): raise RuntimeError("teardown")
    def test_broken_teardown_method(self): pass

# -- subtests

def test_wrong_subtest(subtests):
    for number in range(3):
        with subtests.test(number=number):
            assert number != 1
def test_passed_subtests(subtests):
    for number in range(3):
        with subtests.test(number=number):
            assert number < 3
def test_passed_subtest_skipped(subtests):
    with subtests.test(number=1):
        pytest.skip("this one")
def test_wrong_subtest_then_skipped(subtests):
    with subtests.test(number=1):
        assert False
    pytest.skip("the rest")

# -- unittest

class TestUnit(unittest.TestCase):
    def test_passed_unit(self): pass
    def test_wrong_unit(self): self.fail("no")
    def test_wrong_unit_error(self): raise KeyError("x")
    def test_wrong_unit_subtest(self):
        for number in range(3):
            with self.subTest(number=number):
                self.assertNotEqual(number, 1)
    def test_passed_unit_subtests(self):
        with self.subTest(number=1):
            pass
    @unittest.expectedFailure
    def test_passed_unit_expected_failure(self): self.fail("known")
    @unittest.expectedFailure
    def test_wrong_unit_unexpected_success(self): pass
    def test_none_unit_skips(self): self.skipTest("now")
    @unittest.skip("always")
    def test_none_unit_skip(self): pass
class TestUnitTearDown(unittest.TestCase):
    def tearDown(self): raise RuntimeError("tearDown")
    def test_wrong_unit_tear_down(self): pass
class TestUnitCleanup(unittest.TestCase):
    def test_wrong_unit_cleanup(self): self.addCleanup(lambda: 1 / 0)
class TestUnitSetUp(unittest.TestCase):
    def setUp(self): raise RuntimeError("setUp")
    def test_wrong_unit_set_up(self): pass
class TestUnitClass(unittest.TestCase):
    @classmethod
    def tearDownClass(cls): raise RuntimeError("tearDownClass")
    def test_broken_unit_class(self): pass

# -- asynchronous

@pytest.fixture
def anyio_backend(): return "asyncio"
@pytest.mark.anyio
async def test_passed_async(model): assert (await model.complete("hello")).text is not None
@pytest.mark.anyio
async def test_wrong_async(model): assert (await model.complete("hello")).text == "never"
@pytest.fixture
async def async_teardown(anyio_backend):
    yield
    raise RuntimeError("teardown")
@pytest.mark.anyio
async def test_broken_async_teardown(async_teardown): pass

# -- what a plugin makes of it

def test_wrong_by_a_hook(): pass
def test_passed_by_a_hook(): assert False

# -- the last test of the module gets the teardown of the module

@pytest.fixture(scope="module")
def broken_module():
    yield
    raise RuntimeError("teardown of the module")
def test_broken_last_of_module(broken_module): pass
'''

CONFTEST = """
import pytest

@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if item.name.endswith("by_a_hook") and call.when == "call":
        failed = item.name.startswith("test_wrong")
        report.outcome, report.longrepr = ("failed", "the hook says so") if failed else ("passed", None)
    return report
"""


def statuses(run: Path) -> dict[str, str]:
    return {record["sample"].rpartition("::")[2]: record["status"] for record in records(run)}


def red(output: str) -> set[str]:
    """The tests that pytest calls failed or an error, subtests as well."""
    found = re.findall(r"^(?:FAILED|ERROR|SUBFAILED\S*(?: \S+)*) \S*::(\S+)", output, re.MULTILINE)
    return {name.partition(" ")[0] for name in found}


def expected(name: str) -> str:
    return re.search("passed|wrong|broken|none", name)[0]


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["serial", "xdist"])
def test_the_record_is_what_pytest_says_and_a_resume_keeps_red_tests_red(tmp_path, workers):
    (tmp_path / "test_kinds.py").write_text(KINDS)
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    names = {*re.findall(r"def (test_\w+)", KINDS)} - {"test_parametrized"}
    names |= {"test_parametrized[passed]", "test_parametrized[wrong]"}
    model = ("--model=baseline", "--run-dir=run", "-rA", "--dist=loadfile")
    first = forked_in(tmp_path, *model, *workers)
    assert first.status == 1, first.output
    stored = statuses(tmp_path / "run")
    assert stored == {name: expected(name) for name in names if expected(name) != "none"}, first.output
    assert red(first.output) == {name for name, status in stored.items() if status != "passed"}
    again = forked_in(tmp_path, "--resume=run", "-rA", "--dist=loadfile", *workers)
    assert again.status == 1, again.output
    assert red(again.output) == red(first.output)
    kept = set(re.findall(r"^SKIPPED.*it passed in the resumed run", again.output, re.MULTILINE))
    assert kept
    assert statuses(tmp_path / "run") == stored
    green = forked_in(tmp_path, "--resume=run", "-k", "(passed or none) and not (wrong or broken)", *workers)
    assert green.status == 0, green.output


TWICE = """
import pathlib

def test_passes_the_second_time(model):
    seen = pathlib.Path("seen")
    first = not seen.exists()
    seen.touch()
    assert not first
"""


def test_a_test_that_runs_twice_is_red_if_it_was_red_once(tmp_path):
    (tmp_path / "test_twice.py").write_text(TWICE)
    named = ("test_twice.py", "test_twice.py", "--keep-duplicates")
    result = forked_in(tmp_path, *named, "--model=baseline", "--run-dir=r")
    assert "1 failed, 1 passed" in result.output, result.output
    assert statuses(tmp_path / "r") == {"test_passes_the_second_time": "wrong"}
    each = forked_in(tmp_path, "--model=baseline", "--run-dir=r2", "--dist=each", "--tx=2*popen")
    assert each.status == 4
    assert "--dist each would run tests that leave a record more than once" in each.output


DIES = """
import os, pathlib

def test_passes(model):
    pass

def test_dies(model):
    if not pathlib.Path("fixed").exists():
        os._exit(3)

def test_is_next(model):
    pass
"""


def test_a_test_that_ends_its_process_has_not_passed(tmp_path):
    """Without workers the whole run dies, and a resumed one runs what had not passed."""
    (tmp_path / "test_own.py").write_text(DIES)
    died = forked_in(tmp_path, "--model=baseline", "--run-dir=run")
    assert died.status == 3, died.output
    again = forked_in(tmp_path, "--resume=run")
    assert again.status == 3, again.output
    (tmp_path / "fixed").touch()
    fixed = forked_in(tmp_path, "--resume=run")
    assert "2 passed, 1 skipped" in fixed.output, fixed.output
    assert re.search(r"^\.\. +\[100%\]$", fixed.output, re.MULTILINE), "no letter for the test that had passed"
    assert set(statuses(tmp_path / "run").values()) == {"passed"}


DYNAMIC = """
def test_asks_for_it_late(request):
    assert request.getfixturevalue("model").complete("late").text

def test_names_it(model):
    assert model.complete("named").text
"""


def test_a_fixture_that_is_asked_for_late_spoils_no_other_test(tmp_path):
    (tmp_path / "test_own.py").write_text(DYNAMIC)
    result = forked_in(tmp_path, "--model=baseline", "--run-dir=run")
    assert "2 passed" in result.output, result.output
    assert statuses(tmp_path / "run") == {"test_names_it": "passed"}
    assert "2 requests to the model, 1 of them outside any test" in result.output
