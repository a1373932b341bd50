"""What is built: kernels under the sanitizers, in a wheel, and a wheel without them where no compiler is."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["setuptools"]
KERNELS = {module["name"].rpartition(".")[2] for module in SETTINGS["ext-modules"]}

pytestmark = [pytest.mark.laws, pytest.mark.skipif(sys.platform != "linux", reason="needs gcc")]


def run(*command, **variables):
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=ROOT, env={**os.environ, **variables}
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return done.stdout


def wheel(folder, **variables):
    """The names in a wheel, built as pip would (which fetches setuptools), from a copy of the sources."""
    pytest.importorskip("build")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder / name)
    built = shutil.ignore_patterns("*.so", "*.egg-info", "__pycache__", ".*")
    shutil.copytree(ROOT / "src", folder / "src", ignore=built)
    out = folder / "out"
    run(sys.executable, "-m", "build", "--wheel", "--outdir", out, folder, **variables)
    (found,) = out.iterdir()
    with zipfile.ZipFile(found) as opened:
        opened.extractall(folder / "unpacked")
        return opened.namelist()


def compiled(folder):
    """What the package that was unpacked says of its kernels."""
    asked = "from suffice.maths import kernels; print(kernels.COMPILED, kernels.__file__)"
    unpacked = folder / "unpacked"
    said, where = run(sys.executable, "-P", "-c", asked, PYTHONPATH=str(unpacked)).split()
    assert Path(where).is_relative_to(unpacked)
    return said == "True"


def test_no_sanitizer_finds_anything_in_the_kernels():
    if shutil.which("gcc") is None:
        pytest.skip("needs gcc")
    said = run("sh", "tests/sanitize.sh", sys.executable)
    assert " passed" in said
    assert "runtime error" not in said


def test_a_wheel_holds_every_kernel_for_every_python(tmp_path):
    names = wheel(tmp_path)
    found = {Path(name).name.split(".")[0] for name in names if name.endswith(".abi3.so")}
    assert found == KERNELS >= {"_even", "_fold", "_rado"}
    assert compiled(tmp_path)
    assert any("cp311-abi3" in path.name for path in (tmp_path / "out").iterdir())


def test_without_a_compiler_a_wheel_is_built_all_the_same_and_the_twins_run(tmp_path):
    names = wheel(tmp_path, CC="/bin/false")
    assert not [name for name in names if name.endswith(".so")]
    assert "suffice/maths/kernels/reference.py" in names
    assert not compiled(tmp_path)
