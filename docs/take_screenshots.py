"""Takes the screenshots of the docs, ``docs/pictures/*.png``, of runs on bundled samples: ``make screenshots``.

Needs Chromium, and Allure 3, which ``make test-heavy`` installs into ``.venv``. Times in the pictures depend on the
clock, so no test compares them.
"""

from __future__ import annotations

import http.server
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from functools import partial
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, sync_playwright

ROOT = Path(__file__).resolve().parents[1]
PICTURES = ROOT / "docs" / "pictures"
RUNS = {"baseline": "baseline", "oracle": "oracle", "baseline-again": "baseline"}
"""Name of a run → its model. A model needs two runs for a trend."""
CHOSEN = ("bench_gta", "bench_wild", "--limit", "20", "-q")
WIDTH, HEIGHT = 1280, 860
COLOURS = 255


def main() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        runs = Path(scratch)
        for name, model in RUNS.items():
            _run("pytest", *CHOSEN, f"--model={model}", f"--run-dir={runs / name}", folder=ROOT)
        _run(
            "agentgauge",
            "compare",
            "baseline",
            "oracle",
            "--format",
            "html",
            "--output",
            "comparison.html",
            folder=runs,
        )
        page = runs / "baseline" / "report.html"
        browser_path = shutil.which("chromium") or shutil.which("google-chrome")
        if browser_path is None:
            sys.exit("there is no Chromium here; install the package chromium of your system")
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=browser_path, args=["--no-sandbox"])
            _take(browser, page.as_uri(), "page")
            case = _first_link(browser, f"{page.as_uri()}#task=gta_atomic.e2e&status=wrong")
            _take(browser, page.as_uri() + case, "page-case", ready="#case-body .step")
            _take(browser, f"{page.as_uri()}#words=calculator%20requests%3E2", "page-cases", scroll="#cases")
            _take(browser, (runs / "comparison.html").as_uri(), "comparison")
            (runs / "comparison.html").unlink()
            with subprocess.Popen(
                [_program("agentgauge"), "view", "."], cwd=runs, stdout=subprocess.PIPE, text=True
            ) as view:
                assert view.stdout is not None
                _take(
                    browser, view.stdout.readline().strip(), "view", ready=".spark", height=600, hidden=runs.resolve()
                )
                view.terminate()
            _take_allure(browser, runs)
            browser.close()


OWN = """
import allure

def pytest_collection_modifyitems(items):
    for item in items:
        item.add_marker(allure.epic("Support desk"))
        item.add_marker(allure.severity("blocker"))
"""
"""A plugin that says something to Allure about each case."""


def _take_allure(browser: Browser, runs: Path) -> None:
    """A dashboard of two models and two selections, with a gate that fails and labels of the project's own."""
    results = runs / "results"
    (runs / "own_labels.py").write_text(OWN)
    for name in ("baseline", "oracle"):
        _run("agentgauge", "report", name, "--allure", "results", folder=runs)
    few = ("bench_wild", "--limit=8", "--model=baseline", "--gate=wild.Task>=40", "-p", "own_labels", "-q")
    subprocess.run(
        [_program("pytest"), *few, f"--run-dir={runs / 'few'}", f"--alluredir={results}"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(runs)},
        check=False,  # the gate fails
    )
    allure = ROOT / ".venv" / "node_modules" / ".bin" / "allure"
    subprocess.run([allure, "generate", "--config", results / "allurerc.mjs"], check=True)
    shown = partial(http.server.SimpleHTTPRequestHandler, directory=str(results))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), shown) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}/dashboard/awesome/"
        _take(browser, address, "allure", ready="text=Environment:", scroll="text=Global Errors", height=1060)
        failed = [*(json.loads(path.read_text()) for path in (results / "dashboard").rglob("test-results/*.json"))]
        few_wrong = next(one for one in failed if "few" in str(one["links"]) and one["status"] == "failed")
        _take(browser, f"{address}#{few_wrong['id']}", "allure-case", ready="text=Description")
        server.shutdown()


def _run(program: str, *words: str, folder: Path) -> None:
    subprocess.run([_program(program), *words], cwd=folder, check=True)


def _program(name: str) -> str:
    return str(Path(sys.executable).with_name(name))


def _first_link(browser: Browser, address: str) -> str:
    """The fragment of the first case that a page lists: ``--limit`` chooses the samples."""
    page = browser.new_page()
    page.goto(address)
    fragment = page.locator("#case-table a").first.get_attribute("href")
    page.close()
    return str(fragment)


def _take(
    browser: Browser,
    address: str,
    name: str,
    *,
    ready: str = "h1",
    scroll: str = "",
    height: int = HEIGHT,
    hidden: Path | None = None,
) -> None:
    """``hidden``: a temporary folder, which the picture calls ``runs``."""
    page = browser.new_page(viewport={"width": WIDTH, "height": height}, color_scheme="light", reduced_motion="reduce")
    page.goto(address)
    page.locator(ready).first.wait_for()
    if hidden:
        page.locator("#line").evaluate(
            "(line, path) => { line.textContent = line.textContent.replace(path, 'runs'); }", str(hidden)
        )
    if scroll:
        page.locator(scroll).evaluate("element => element.scrollIntoView()")
    if address.startswith("file:"):  # the list of runs keeps its connection open
        page.wait_for_load_state("networkidle")
    shot = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    target = PICTURES / f"{name}.png"
    shot.quantize(COLOURS).save(target, optimize=True)
    print(f"{target.relative_to(ROOT)}: {target.stat().st_size / 1000:.0f} KB")
    page.close()


if __name__ == "__main__":
    main()
