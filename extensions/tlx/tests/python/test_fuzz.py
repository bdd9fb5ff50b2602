"""A sample of random programs; `nox -s tlx-fuzz` runs many."""

import importlib
import pathlib
import random
import sys

import pytest

pytest.importorskip("numpy")
pytest.importorskip("tritonext_tlx", reason="the extension tlx is not installed")

FUZZ = pathlib.Path(__file__).parents[1] / "fuzz"


@pytest.fixture
def fuzz(monkeypatch):
    monkeypatch.syspath_prepend(str(FUZZ))
    yield importlib.import_module("run"), importlib.import_module("programs")
    for name in ("run", "programs"):
        sys.modules.pop(name, None)


def test_a_seed_makes_the_same_program(fuzz):
    _, programs = fuzz
    assert programs.generate(7).source == programs.generate(7).source
    assert len({programs.generate(seed).source for seed in range(50)}) == 50


def test_a_sample(fuzz):
    run, _ = fuzz
    seeds = random.Random(2026).sample(range(2000), 30)
    outcomes = run.run(seeds, jobs=1, batch=30)
    assert [outcome.seed for outcome in outcomes] == seeds
    assert [outcome for outcome in outcomes if outcome.bad] == []
    assert sum(outcome.works for outcome in outcomes) >= 0.6 * len(seeds)


def test_a_crash_is_the_outcome_of_one_program(fuzz, monkeypatch, tmp_path):
    run, _ = fuzz
    worker = tmp_path / "worker.py"
    # Says that the first program worked, and dies of the second.
    worker.write_text(
        "import json, os, sys\n"
        "seeds = [int(text) for text in sys.argv[2:]]\n"
        "for seed in seeds:\n"
        "    if seed == 2: os.abort()\n"
        "    print(json.dumps(dict(seed=seed, mistake='', compiled='ok', simulated='ok')), flush=True)\n"
    )
    monkeypatch.setattr(run, "__file__", str(worker))
    outcomes = run.run([1, 2, 3])
    assert [(outcome.seed, outcome.bad) for outcome in outcomes] == [(1, False), (2, True), (3, False)]
    assert outcomes[1].compiled.startswith("crash")
