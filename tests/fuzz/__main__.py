"""`python -m tests.fuzz`; see `fuzz/__init__.py`."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # as pytest has it

from fuzz import processes, running


def main() -> int:
    """Run the families that are asked for."""
    parser = argparse.ArgumentParser(description="Hard use of the library, at random.")
    parser.add_argument("--minutes", type=float, default=4.0, help="for all families together")
    parser.add_argument("--cases", type=int, default=10**9, help="at most, of each family")
    parser.add_argument("--only", nargs="+", choices=[*running.FAMILIES, "processes"])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--case", type=int, help="a single one, with its traceback")
    for name in ("--work", "--folder"):
        parser.add_argument(name, help=argparse.SUPPRESS)
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--seconds", type=float, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.work:
        running.work(
            chosen.work,
            chosen.first,
            chosen.seed,
            chosen.seconds,
            chosen.cases,
            Path(chosen.folder),
        )
        return 0
    families = chosen.only or [*running.FAMILIES, "processes"]
    for family in [each for each in families if each != "processes" and not running.can_run(each)]:
        print(f"{family}: left out, {running.FAMILIES[family]} is not installed", flush=True)
        families.remove(family)
    if chosen.case is not None:
        print(running.run_case(families[0], chosen.case, chosen.seed), "found nothing")
        return 0
    counts, findings = Counter[str](), []
    end = time.monotonic() + 60 * chosen.minutes
    for number, family in enumerate(families):
        if family == "processes":
            counts[family] = processes.run_checks()
            continue
        # What a family leaves, because `--cases` were enough, is for the others.
        seconds = (end - time.monotonic()) / (len(families) - number)
        counts[family], found = running.run_family(
            family, seconds, chosen.seed, chosen.first, chosen.cases
        )
        findings += found
        print(
            f"{family}: {counts[family]} cases, {len(running.distinct(found))} findings", flush=True
        )
    print(running.summary(counts, running.distinct(findings)))
    return bool(findings)


if __name__ == "__main__":
    sys.exit(main())
