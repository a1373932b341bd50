"""A reader in JavaScript, written from the page of the format, reads what is sealed and nothing else."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from suffice.core.errors import SufficeError
from suffice.core.guarantees import PureDP
from suffice.core.laws import L2Laplace
from suffice.core.recipe import Recipe
from suffice.releases import codec
from suffice.releases.release import load
from suffice.releases.seal import new_keys, sealed, signature
from tests.releases.example import RADIUS, labels, release, several

ROOT = Path(__file__).parents[2]
READERS = ROOT / "tests" / "readers"
READER = READERS / "reader.mjs"
EDGES = (0, 1, -1, 2**53 + 1, -(2**53) - 1, 2**63 - 1, -(2**63))
FLOATS = (0.0, -0.0, 5e-324, -1.7976931348623157e308, 0.1, 1e21, 1e-7, 2.0**53 + 2)


class NoNode(Exception):
    """Node or what it fetches cannot be had; the sentence says what to do."""


def program(name):
    """Node or npm: of this machine, or of the Python package of the extra `laws`."""
    bins = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    found = shutil.which(name, path=os.environ.get("PATH")) or shutil.which(name, path=bins)
    if found is None:
        raise NoNode(
            f"There is no {name} here. Install Node 20 or newer, or the extra: pip install -e '.[laws]'."
        )
    return found


def reader():
    """The command that reads files, its package fetched once per lock into the build folder."""
    node, npm = program("node"), program("npm")
    lock = hashlib.sha256((READERS / "package-lock.json").read_bytes()).hexdigest()[:16]
    place = ROOT / "build" / "readers" / lock
    if not (place / "node_modules").exists():
        draft = place.with_name(f"{lock}.{os.getpid()}")
        draft.mkdir(parents=True)
        for name in ("package.json", "package-lock.json"):
            shutil.copy(READERS / name, draft)
        environment = os.environ | {"PATH": f"{Path(node).parent}{os.pathsep}{os.environ.get('PATH', '')}"}
        command = [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--fetch-retries=1"]
        run = subprocess.run(
            command, cwd=draft, env=environment, check=False, capture_output=True, text=True, timeout=120
        )
        if run.returncode:
            shutil.rmtree(draft)
            raise NoNode(f"npm could not fetch what the lock names: {run.stderr[-2000:]}")
        try:
            draft.rename(place)
        except OSError:  # another worker was first
            shutil.rmtree(draft)
    return node, place


def answers(folder, command, paths, code=None):
    """What the reader, or another code in its place, says of each file, a hundred files at a time."""
    node, place = command
    script = place / f"reader.{os.getpid()}.mjs"  # beside the packages, where Node looks for them
    script.write_text(READER.read_text("utf-8") if code is None else code, "utf-8")
    said = []
    try:
        for start in range(0, len(paths), 100):
            run = subprocess.run(
                [node, script, folder / "owner.pub", *paths[start : start + 100]],
                check=False,
                capture_output=True,
                text=True,
                encoding="utf-8",
                timeout=120,
            )
            assert run.stdout, run.stderr[-2000:]
            said += json.loads(run.stdout)
    finally:
        script.unlink()
    assert [Path(one["file"]) for one in said] == paths
    return said


def made(number):
    """A release: the first are one of each shape, the others are drawn."""
    given = list(several().values())
    if number < len(given):
        return given[number]
    draw = np.random.default_rng([22, number])
    width, epsilon = int(draw.integers(2, 40)), float(draw.uniform(0.01, 8))
    plain = {"recipe": Recipe.of([f"x{place}·é" for place in range(width)], intercept=False)}
    shape = (int(draw.integers(2, 5)), width) if number % 4 == 1 else (width,)
    if number % 4 == 2:
        texts = [chr(int(code)) + "\u2028\"'\\" for code in draw.integers(0x20, 0xD7FF, width)]
        whole = draw.choice(EDGES, width)
        return labels(
            pa.table({"key": texts, "answer": draw.random(width) < 0.5, "n": whole, "w": draw.random(width)})
        )
    if number % 4 == 3:
        values = np.concatenate([FLOATS, draw.standard_normal(width) * 10.0 ** draw.integers(-300, 300)])
        bare = dict.fromkeys(("recipe", "bound", "grid", "sensitivity", "witness", "law"))
        return release(kind="Fit", values=values, **(bare | {"names": tuple(map(str, range(len(values))))}))
    values = draw.integers(-(2**62), 2**62, shape)
    values.flat[: len(EDGES)] = draw.permutation(EDGES)[: values.size]
    law = L2Laplace(Fraction(2 * RADIUS) / Fraction(epsilon), width)
    classes = tuple(range(shape[0] + 1 if len(shape) == 2 else 2))
    return release(law, PureDP(epsilon), values=values, about={"label": "y", "classes": classes}, **plain)


def columns_of(one):
    """The numbers that were handed in, before any file."""
    if one.answers is not None:
        return {name: one.answers[name].to_pylist() for name in one.answers.column_names}
    return {"values": one.values.ravel().tolist()}


def exact(text, number):
    """Whether the reader's text is this very number: whole digits, or the same float down to its sign."""
    if isinstance(number, float):
        return float(text).hex() == number.hex()
    return text == (str(number) if type(number) is int else number)


def agrees(said, one):
    """Whether the reader found the header and the columns of this release."""
    columns = columns_of(one)
    if "refused" in said or list(said["columns"]) != list(columns):
        return False
    header, values, table = codec.unpack(one.to_bytes())
    header |= {"format": 1} | ({"shape": list(values.shape)} if table is None else {})
    return said["header"] == header and all(
        len(said["columns"][name]) == len(column) and all(map(exact, said["columns"][name], column))
        for name, column in columns.items()
    )


def flipped(data, draw):
    """The file with one bit another."""
    at = int(draw.integers(0, 8 * len(data)))
    return data[: at // 8] + bytes([data[at // 8] ^ 1 << at % 8]) + data[at // 8 + 1 :]


def edited(payload, draw):
    """The payload with the last bit of some byte another, as an edit of a value or of the header."""
    at = int(draw.integers(0, len(payload)))
    return payload[:at] + bytes([payload[at] ^ 1]) + payload[at + 1 :]


def tampered(number, payload, keys, last):
    """A sealed file that somebody changed, in one of nine ways."""
    draw = np.random.default_rng([23, number])
    good = sealed(payload, keys["owner"])
    (seal,), (theirs,) = good.signatures, sealed(payload, keys["thief"]).signatures
    ways = (
        lambda: flipped(good.to_bytes(), draw),
        lambda: good.to_bytes()[: int(draw.integers(0, len(good.to_bytes()) - 2))],
        lambda: replace(good, payload=edited(payload, draw)).to_bytes(),
        lambda: replace(good, payload=b"").to_bytes(),
        lambda: replace(good, signatures=()).to_bytes(),
        lambda: replace(good, signatures=(theirs,)).to_bytes(),
        lambda: replace(good, signatures=(replace(theirs, key_id=seal.key_id), seal)).to_bytes(),
        lambda: replace(good, signatures=(signature(payload, keys["owner"]),)).to_bytes(),
        lambda: replace(good, signatures=sealed(last, keys["owner"]).signatures).to_bytes(),
    )
    return ways[number % len(ways)]()


def compared(folder, count, gate):
    """Write so many releases and as many tampered ones, and hold the two readers against each other."""
    command = reader()
    keys = {name: new_keys(name, folder)[0] for name in ("owner", "thief")}
    releases = [made(number) for number in range(count)]
    sound = [one.save(folder / f"{at}.suffice", seal=keys["owner"]) for at, one in enumerate(releases)]
    broken, last = [], b"another"
    for number, one in enumerate(releases):
        path = folder / f"{number}-changed.suffice"
        path.write_bytes(tampered(number, one.to_bytes(), keys, last))
        broken.append(path)
        last = one.to_bytes()
    for path in (*sound[:20], *broken[:20]):
        assert opens(path, folder / "owner.pub") == (path in sound)
    same = sum(map(agrees, answers(folder, command, sound), releases))
    steps = [one.get("refused") for one in answers(folder, command, broken)]
    before = sum(step in {"envelope", "seal"} for step in steps)
    trusting = sum("refused" not in one for one in answers(folder, command, broken, unchecked()))
    gate(
        "G22",
        "1,000 agree, 1,000 changed ones rejected",
        f"{same:,} agree, {before:,} rejected",
        f"a reader that does not check the signature takes {trusting} of the changed ones",
    )
    assert same == count
    assert before == count, steps
    assert trusting > 0


def unchecked():
    """The reader with every signature taken for good: the wrong version that must be noticed."""
    code = READER.read_text("utf-8")
    assert code.count("await webcrypto.subtle.verify(") == 1
    return code.replace("await webcrypto.subtle.verify(", "true || (")


def opens(path, key):
    """Whether suffice reads this file under this key."""
    try:
        load(path, trust=key)
    except SufficeError:
        return False
    return True


def test_another_reader_agrees_on_twelve_releases_and_on_twelve_changed_ones(tmp_path, gate):
    try:
        reader()
    except NoNode as missing:
        pytest.skip(f"the law itself would fail here: {missing}")
    compared(tmp_path, 12, gate)


@pytest.mark.laws
def test_another_reader_agrees_on_a_thousand_releases_and_on_a_thousand_changed_ones(tmp_path, gate):
    compared(tmp_path, 1_000, gate)


@pytest.mark.laws
def test_the_other_reader_looks_at_no_payload_before_its_seal(tmp_path, gate):
    keys = {name: new_keys(name, tmp_path)[0] for name in ("owner", "thief")}
    paths = [tmp_path / "owner.suffice", tmp_path / "thief.suffice"]
    for path in paths:
        path.write_bytes(sealed(b"no Arrow stream", keys[path.stem]).to_bytes())
    ours, theirs = answers(tmp_path, reader(), paths)
    said = f"{theirs['refused']} and {ours['refused']}"
    gate("G22", "no Arrow: refused at the seal if it does not hold, at the payload if it does", said)
    assert theirs["refused"] == "seal"
    assert ours["refused"] == "payload"


def test_the_other_reader_has_a_lock_that_names_no_host_and_knows_no_suffice():
    lock = json.loads((READERS / "package-lock.json").read_text("utf-8"))
    wanted = json.loads((READERS / "package.json").read_text("utf-8"))["dependencies"]
    assert lock["packages"][""]["dependencies"] == wanted
    packages = [entry for name, entry in lock["packages"].items() if name]
    assert all(base64.b64decode(entry["integrity"].removeprefix("sha512-")) for entry in packages)
    assert "://" not in json.dumps(lock)
    code = READER.read_text("utf-8")
    imports = {line.partition(' from "')[2] for line in code.splitlines() if line.startswith("import ")}
    assert imports == {'apache-arrow";', 'node:fs/promises";', 'node:crypto";'}
    assert len(code.splitlines()) <= 90
