"""Take the picture of MLflow's compare page: `python -m benchmarks.screenshot`.

It starts the MLflow UI on the project's store as `make ui` does, opens the newest finished runs
side by side in a Chromium without a window, and saves what a person would see. Chromium is found on
the PATH (Debian: `apt install chromium`), or playwright's is used (`playwright install chromium`).
"""

from __future__ import annotations

import argparse
import json
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import requests
from mlflow import MlflowClient
from playwright.sync_api import sync_playwright

from hanyi.tracking.mirror import EXPERIMENT, store_address

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
START = 120.0  # seconds that the server may take
PLOT = ".js-plotly-plot"
METRICS = ("score/bleu.score", "score/chrf.score")


def main() -> None:
    """Save the picture and say what is in it."""
    parser = argparse.ArgumentParser(description="A picture of MLflow's compare page.")
    parser.add_argument("names", nargs="*", help="experiments to compare; else the newest")
    parser.add_argument("--output", type=Path, default=Path("docs/mlflow.png"))
    parser.add_argument("--runs", type=int, default=4, help="newest finished runs to compare")
    parser.add_argument("--width", type=int, default=1400, help="pixels")
    parser.add_argument("--height", type=int, default=1000, help="pixels")
    flags = parser.parse_args()
    with serving() as address:
        page, names = compare_page(address, flags.names, flags.runs)
        take(page, flags.output, flags.width, flags.height)
    size = flags.output.stat().st_size
    sys.stdout.write(f"{flags.output}: {size:,} bytes, runs {', '.join(names)}\n")


@contextmanager
def serving() -> Iterator[str]:
    """Run `make ui` on a free port; give the address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(["make", "ui", f"PORT={port}"], start_new_session=True)
    address = f"http://127.0.0.1:{port}"
    end = time.monotonic() + START
    try:
        while not _healthy(address):
            if process.poll() is not None or time.monotonic() > end:
                raise SystemExit("the MLflow UI does not start")
            time.sleep(0.5)
        yield address
    finally:
        process.terminate()
        process.wait()


def compare_page(address: str, names: list[str], count: int) -> tuple[str, list[str]]:
    """Give the address of the page that compares runs, and their names."""
    client = MlflowClient(address)
    experiment = client.get_experiment_by_name(EXPERIMENT)
    if experiment is None:
        raise SystemExit(f"{store_address(Path.cwd())}: no runs; `dvc exp run` makes one")
    found = client.search_runs([experiment.experiment_id], "status = 'FINISHED'")
    found = [run for run in found if not names or run.info.run_name in names][:count]
    runs = quote(json.dumps([run.info.run_id for run in found]))
    experiments = quote(json.dumps([experiment.experiment_id]))
    page = f"{address}/#/compare-runs?runs={runs}&experiments={experiments}"
    return page, [str(run.info.run_name) for run in found]


def take(address: str, output: Path, width: int, height: int) -> None:
    """Open the page, choose the metrics as a person would, and save what is seen."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": width, "height": height})
        page.set_default_timeout(START * 1000)
        page.goto(address, wait_until="commit")
        page.wait_for_selector(PLOT)
        page.get_by_label("Close", exact=True).click()  # the assistant
        page.get_by_role("button", name="Model training").click()
        metrics = page.get_by_role("combobox").nth(1)
        metrics.click()
        metrics.press("Backspace")  # the metric that MLflow has chosen
        for name in METRICS:
            metrics.fill(name)
            page.get_by_role("option", name=name, exact=True).wait_for(state="attached")
            metrics.press("Enter")
        metrics.press("Escape")
        metrics.blur()
        page.wait_for_timeout(2000)  # the plot is drawn anew
        page.screenshot(path=output)
        browser.close()


def _healthy(address: str) -> bool:
    try:
        return requests.get(f"{address}/health", timeout=5).ok
    except requests.RequestException:
        return False


if __name__ == "__main__":
    main()
