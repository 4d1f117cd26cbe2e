"""Takes the screenshots of the docs, ``docs/pictures/*.png``, of runs on bundled samples: ``make screenshots``.

Needs Chromium. Times in the pictures depend on the clock, so no test compares them.
"""

from __future__ import annotations

import io
import shutil
import subprocess
import sys
import tempfile
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
            browser.close()


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
