"""Measures the published results of the papers that this version can measure and writes them down.

    make validate                             every paper, 2,000 measured transactions per core and point
    make validate PAPER=counter-atomicity     one of them
    validation/measure.py --quick --out FOLDER

Variant `published`, one seed, one machine preset per paper; nothing is chosen per workload or point. For every paper a
page for people and the runs behind it are written.
"""

from __future__ import annotations

import argparse
import tomllib
from pathlib import Path

import counter_atomicity
import easy_pm
import secpm
import sepencr

HERE = Path(__file__).parent
PAPERS = {
    "secpm": secpm.measure,
    "counter-atomicity": counter_atomicity.measure,
    "easy-pm": easy_pm.measure,
    "sepencr": sepencr.measure,
}


def main() -> None:
    """Measures, writes the files and prints a line per claim."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("paper", nargs="?", default="all", choices=("all", *PAPERS), help="which one; default all")
    parser.add_argument("--quick", action="store_true", help="small footprints and few transactions")
    parser.add_argument("--out", type=Path, default=HERE, help="folder to write to")
    asked = parser.parse_args()
    published = tomllib.loads((HERE / "claims.toml").read_text())
    claims = {claim["id"]: claim for claim in published["claim"]}
    for name, measure in PAPERS.items():
        if asked.paper not in ("all", name):
            continue
        measured = measure(claims, asked.quick)
        measured.write(asked.out)
        for row in measured.rows:
            verdict = "holds " if row.holds else "misses"
            print(f"{verdict}  {row.claim} at {row.at}: {row.measured} (published {row.published})")


if __name__ == "__main__":
    main()
