"""Fresh environments: a wheel, a source archive, each extra, with a compiler and with none."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.style.house import project

ROOT = Path(__file__).parents[2]
OPTIONAL = project()["project"]["optional-dependencies"]
WORKSHOP = {"test", "laws", "dev", "docs"}  # they are for this tree, and its own tests use them
LIBRARIES = {  # what an extra is for, by the names of import
    "duckdb": ["duckdb"],
    "postgres": ["psycopg"],
    "plot": ["matplotlib"],
    "accounting": ["dp_accounting"],
    "audit": ["opendp", "dp_accounting"],
    "conllu": ["conllu"],
    "exchange": ["starlette", "uvicorn", "httpx"],
    "spark": ["pyspark"],
    "sql": ["ibis"],
}
LIBRARIES["all"] = sorted({name for names in LIBRARIES.values() for name in names})

LIFE = """
import hashlib, importlib, importlib.util, json, sys
import numpy as np, pyarrow as pa
import suffice as sf
from suffice.core.errors import MissingExtra
from suffice.learners import MeanOperatorClassifier
from suffice.maths import kernels
from suffice.releases.seal import new_keys

wanted, others = json.loads(sys.argv[1])
for name in wanted:
    importlib.import_module(name)
draw = np.random.default_rng(27)
X = draw.standard_normal((2000, 3))
y = X @ [1.0, -2.0, 0.5] + draw.standard_normal(2000) / 4 > 0
table = pa.table({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "y": y})
new_keys("owner")
ledger = sf.Ledger.create(
    "owner.db", dataset="x", unit=sf.LabelOf("y"), budget=sf.PureDP(2.0), allow_unprotected=True
)
owner = sf.Owner(sf.Table(table), ledger=ledger)
mu = sf.MeanOperator(["a", "b", "c"], "y", bound=sf.Bound(2, 3.0))
owner.release(mu, sf.L2Laplace(epsilon=1.0)).save("y.suffice", seal="owner.key")
release = sf.load("y.suffice", trust="owner.pub")
model = MeanOperatorClassifier().fit(table.drop_columns("y"), release)
exact = owner.release(mu, sf.Exact(), unprotected="these rows are made up")
try:
    rows = pa.table(sf.DuckDB("select 1 as a").schema.empty_table()).num_columns
except MissingExtra as missing:
    rows = str(missing)
print(json.dumps({
    "where": sf.__file__,
    "compiled": kernels.COMPILED,
    "accuracy": float(np.mean(model.predict(table.drop_columns("y")) == y)),
    "exact": hashlib.sha256(exact.values.tobytes()).hexdigest(),
    "duckdb": rows,
    "found": [name for name in others if importlib.util.find_spec(name)],
}))
"""

pytestmark = pytest.mark.laws


def run(*command, folder, **variables):
    """What a command says, in an environment that knows nothing of this tree."""
    clean = {
        name: text for name, text in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))
    }
    done = subprocess.run(
        list(map(str, command)),
        cwd=folder,
        env=clean | variables,
        check=False,
        capture_output=True,
        text=True,
        timeout=1200,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
    return done.stdout


def uv():
    """The installer; without it these laws fail, since an environment that is not fresh shows nothing."""
    beside = Path(sys.executable).with_name("uv")
    found = str(beside) if beside.exists() else shutil.which("uv")
    assert found, "There is no uv here. Install it: pip install uv."
    return found


@pytest.fixture
def place(tmp_path):
    """A folder that is gone afterwards: an environment may take a gigabyte."""
    yield tmp_path
    shutil.rmtree(tmp_path)


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The source archive, and the wheel made from it, as an index would hold them."""
    folder = tmp_path_factory.mktemp("built")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder / name)
    litter = shutil.ignore_patterns("*.so", "*.egg-info", "__pycache__", ".*")
    shutil.copytree(ROOT / "src", folder / "src", ignore=litter)
    run(uv(), "build", "-q", "--out-dir", folder / "out", folder, folder=folder)
    (wheel,) = (folder / "out").glob("*.whl")
    (archive,) = (folder / "out").glob("*.tar.gz")
    return {"wheel": wheel, "sdist": archive}


def lived(folder, file, extra="", *, wanted=(), **variables):
    """What a fresh environment with this file and this extra says after a release and a fit."""
    python = folder / "fresh" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    run(uv(), "venv", "-q", "--python", sys.executable, folder / "fresh", folder=folder)
    asked = f"suffice[{extra}] @ {file.as_uri()}" if extra else f"suffice @ {file.as_uri()}"
    install = [uv(), "pip", "install", "-q", "--python", python, "--reinstall-package", "suffice"]
    # a wheel that was built before, with another compiler, must not be served from the cache
    fresh = ["--no-cache"] if variables else ["--refresh-package", "suffice"]
    run(*install, *fresh, asked, folder=folder, **variables)
    others = sorted(set(LIBRARIES["all"]) - set(wanted))
    said = json.loads(
        run(python, "-I", "-c", LIFE, json.dumps([list(wanted), others]), folder=folder).splitlines()[-1]
    )
    shown = run(python.with_name("suffice"), "--help", folder=folder)
    assert all(word in shown for word in ("release", "verify", "fit", "ledger"))
    assert Path(said["where"]).is_relative_to(folder / "fresh")
    assert said["accuracy"] > 0.9
    return python, said


def starts(python, folder):
    """How many times longer than a bare interpreter `import suffice` and `--help` take, at their best."""
    cases = {
        "bare": [python, "-I", "-c", "pass"],
        "import": [python, "-I", "-c", "import suffice"],
        "help": [python.with_name("suffice"), "--help"],
    }
    best = dict.fromkeys(cases, float("inf"))
    for _ in range(6):
        for name, command in cases.items():
            began = time.perf_counter()
            run(*command, folder=folder)
            best[name] = min(best[name], time.perf_counter() - began)
    return best["import"] / best["bare"], best["help"] / best["bare"]


def test_a_wheel_and_a_source_archive_make_the_same_release_with_a_compiler_and_with_none(place, built, gate):
    said = {}
    cases = {"wheel": {}, "sdist": {}, "sdist without": {"CC": "/bin/false", "CXX": "/bin/false"}}
    for case, variables in cases.items():
        folder = place / case.replace(" ", "-")
        folder.mkdir()
        python, said[case] = lived(folder, built[case.partition(" ")[0]], **variables)
        if case == "wheel":
            ratios = starts(python, folder)
    compiled = [one["compiled"] for one in said.values()]
    gate(
        "G27",
        "wheel, sdist, sdist without a compiler: one and the same exact release",
        f"kernels {compiled}; import {ratios[0]:.1f} and --help {ratios[1]:.1f} times a bare interpreter",
        "the environment without a compiler has no kernels, so the choice of compiler reaches the build",
    )
    assert compiled == [True, True, False]
    assert len({one["exact"] for one in said.values()}) == 1
    assert [one["found"] for one in said.values()] == [[], [], []]
    assert all("suffice[duckdb]" in str(one["duckdb"]) for one in said.values())


@pytest.mark.parametrize("extra", sorted(set(OPTIONAL) - WORKSHOP))
def test_an_extra_brings_what_it_is_for(place, built, gate, extra):
    _, said = lived(place, built["wheel"], extra, wanted=LIBRARIES[extra])
    gate("G27", f"[{extra}] installs, imports, releases, fits", f"accuracy {said['accuracy']:.3f}")
    if "duckdb" in LIBRARIES[extra]:
        assert said["duckdb"] == 1
