"""Runs one registered recipe in a process of its own, slowly, so that a test can kill it: a driver to be shot at.

drive.py ENTRY INPUT OUTPUT MODEL --delay SECONDS [--address HOST:PORT | --nodes 2] [--object-store BYTES]
"""

import argparse
import json
import os
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from ecqa.core.errors import EcqaError
from ecqa.core.recipe import Recipe
from ecqa.core.stage import Tables, Transform
from ecqa.engine.job import RunOptions, run
from ecqa.engine.resources import Resources, StageResources
from tests.engine.conformance.registry import ENTRIES


class Slow:
    """A transform that takes its time."""

    def __init__(self, inner: Transform, delay: float):
        self.inner = inner
        self.delay = delay

    def __call__(self, tables: Tables) -> Tables:
        time.sleep(self.delay)
        return self.inner(tables)


def slowed(recipe: Recipe, delay: float) -> Recipe:
    """The recipe with a pause before each shard is scored; the same fingerprint."""
    stages = []
    for stage in recipe.stages:
        if stage.pool == "actor":
            make = stage.make

            def build(config: Any, make: Any = make) -> Transform:
                return Slow(make(config), delay)

            stages.append(replace(stage, make=build))
        else:
            stages.append(stage)
    return replace(recipe, stages=tuple(stages))


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("entry")
    parser.add_argument("input")
    parser.add_argument("output")
    parser.add_argument("model")
    parser.add_argument("--delay", type=float, default=0.0)
    parser.add_argument("--address")
    parser.add_argument("--nodes", type=int, default=1)
    parser.add_argument("--object-store", type=int, default=200_000_000)
    given = parser.parse_args()
    recipe = slowed(ENTRIES[given.entry].build(given.input, given.model), given.delay)
    address = given.address
    if given.nodes > 1:
        from ray.cluster_utils import Cluster

        cluster = Cluster()
        for _ in range(given.nodes):
            cluster.add_node(num_cpus=2, object_store_memory=given.object_store)
        address = cluster.address
    resources = Resources(stages={"score_pairs": StageResources(num_cpus=1, actors=2)})
    try:
        summary = run(recipe, given.output, RunOptions(resources=resources, address=address, quiet=True))
    except EcqaError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    sys.stdout.write(json.dumps(summary))
    return 0


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)  # as ecqa.cli does: see _leave there
