"""Make the pictures of the pages on jobs: run the commands that the pages show, and take a picture of each report.

Needs playwright, networkx and a Chromium; ``python docs/scripts/job_pictures.py [FOLDER]`` keeps the files in FOLDER.
"""

import json
import subprocess
import sys
from pathlib import Path
from pydoc_data import topics
from tempfile import TemporaryDirectory

import networkx
import pandas as pd
from playwright.sync_api import Browser, sync_playwright
from sklearn.datasets import load_digits

from rectifact.datasets import load_crowd, make_spectra

IMAGES = Path(__file__).parents[1] / "images"
COMMANDS = {
    "labels": "labels answers.csv -o truth.csv --workers workers.csv --report labels.html",
    "topics": "parts pydoc.jsonl -k 8 -o topics.npz --report topics.html",
    "mixtures": "parts spectra.csv -k auto -o parts.npz --report mixtures.html",
    "map": "embed digits.csv -k 10 --colour-by digit -o digits.npz --report map.html",
    "communities": "cluster scenes.csv -k 6 -o communities.csv --report communities.html",
}
SHOWN = {
    "labels": 'figure:has(figcaption:text-is("Accuracy"))',
    "topics": ".cards",
    "mixtures": 'figure:has(figcaption:text-is("Score by number"))',
    "map": 'figure:has(figcaption:text-is("Map of the samples"))',
    "communities": 'figure:has(figcaption:text-is("The graph, coloured by cluster"))',
}
"""Where the picture is in each report."""


def write_data(folder: Path) -> None:
    """The files that the commands read."""
    load_crowd("anaesthetists").answers.to_csv(folder / "answers.csv", index=False)
    texts = (json.dumps({"id": name, "text": text}) + "\n" for name, text in topics.topics.items())
    (folder / "pydoc.jsonl").write_text("".join(texts))
    pd.DataFrame(make_spectra(400, 60, 4).X).round(5).to_csv(folder / "spectra.csv", index=False, header=False)
    digits = load_digits(as_frame=True)
    digits.data.assign(digit=digits.target).to_csv(folder / "digits.csv", index=False)
    scenes = networkx.les_miserables_graph().edges(data="weight")
    pd.DataFrame(scenes, columns=["one", "other", "scenes"]).to_csv(folder / "scenes.csv", index=False)


def take(browser: Browser, report: Path, place: str, path: Path) -> None:
    """A picture of the first block of a report at this place, at most 700 pixels high."""
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(report.resolve().as_uri())
    box = page.locator(place).first.bounding_box()
    page.screenshot(path=path, full_page=True, clip=box | {"height": min(box["height"], 700)})
    page.close()


def main(folder: Path) -> None:
    """Run everything in a folder."""
    write_data(folder)
    for command in COMMANDS.values():
        print("$ rectifact", command)
        subprocess.run([sys.executable, "-m", "rectifact", *command.split()], cwd=folder, check=True)
    with sync_playwright() as browsers:
        browser = browsers.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        for name, place in SHOWN.items():
            take(browser, folder / f"{name}.html", place, IMAGES / f"job_{name}.png")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        Path(sys.argv[1]).mkdir(parents=True, exist_ok=True)
        main(Path(sys.argv[1]))
    else:
        with TemporaryDirectory() as name:
            main(Path(name))
