"""What real surveys say when their design is inverted, and whether people followed it. JSON.

Six surveys with randomised response: one in which the truth is known (dice that were watched), one with
direct questions beside five designs, one with a die, a stochastic lie detector, crosswise doping
surveys with two protection levels, and five list experiments. `checks` compares with figures known
beforehand, computed from the same answers by z = (y - c) / d.

    python benchmarks/papers/surveys.py --data DIR [--smoke] [--out FILE]

DIR holds the folders rr_mturk, rr_ethbe, rr_nigeria, rr_minarets, rr_wada and list_combined, with Parquet
files in each: the data of the R packages GLMMRR, rr, RRreg, list and of the WADA study. Without DIR, or
with --smoke, only the totals that are typed in here are used.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from suffice import surveys
from suffice.core.errors import InputError

WADA_CODES = {
    "I've TWO 'YES' or TWO 'NO' answers": 1,
    "TWO": 1,
    "two": 1,
    "zero/two": 1,
    "I've only ONE 'YES' answer": 0,
    "Only ONE statement is true": 0,
    "Only ONE statement is true.": 0,
    "one": 0,
    "o": None,  # stray codes
    "v": None,
}
DICE = "cheating dice game"
# observed truth: share of ones, arm by arm, with its standard error
EXPECTED = {
    "honest": {
        "direct": (0.008, 0.005),
        "Forced": (-0.043, 0.017),
        "Unrelated": (0.028, 0.016),
        "Crosswise": (0.119, 0.021),
    },
    "cheater": {
        "direct": (0.71, 0.11),
        "Forced": (0.41, 0.11),
        "Unrelated": (0.55, 0.10),
        "Crosswise": (0.53, 0.10),
    },
}


def table(folder: Path, name: str) -> Any:
    return pq.read_table(folder / f"{name}.parquet")


def told(answers: surveys.Answers, **options: Any) -> list[dict[str, Any]]:
    return [asdict(one) for one in surveys.estimate(answers, **options).rows]


def fits(answers: surveys.Answers) -> list[dict[str, Any]]:
    return [asdict(one) for one in surveys.fit(answers)]


def followed(answers: surveys.Answers, **options: Any) -> dict[str, Any]:
    try:
        return asdict(surveys.compliance(answers, **options))
    except InputError as refusal:
        return {"refused": str(refusal)}


def totals() -> dict[str, Any]:
    """The Nigerian survey and the watched dice under Crosswise, from their totals."""
    nigeria = surveys.read(
        {"y": [1] * 831 + [0] * 1604}, answer="y", design="forced-known", p1=1 / 6, p2=1 / 6
    )
    dice = [(0.1594625, 417, 117), (0.1971293, 384, 155)]
    rows = [(p, y) for p, ones, zeros in dice for y in [1] * ones + [0] * zeros]
    frame = {"p": [p for p, _ in rows], "y": [y for _, y in rows]}
    honest = surveys.read(frame, answer="y", design="Crosswise", p1="p")
    return {
        "nigeria": told(nigeria),
        "epsilon": nigeria.channels[0].guarantee().promise.epsilon,
        "crosswise_honest": told(honest),
        "crosswise_honest_compliance": followed(honest, says="guess", truth=0.0),
    }


def nigeria(folder: Path) -> dict[str, Any]:
    answers = surveys.read(
        table(folder, "rr_nigeria/rr_nigeria"), answer="rr.q1", design="forced-known", p1=1 / 6, p2=1 / 6
    )
    formula = "answer ~ cov.age + C(cov.female) + civic + cov.asset.index + C(cov.married) + cov.education"
    fitted = surveys.regress(answers, formula)
    columns = (fitted.coefficients, fitted.stderr, fitted.p_values)
    return {
        "estimate": told(answers),
        "regression": {
            name: row for name, *row in zip(fitted.names, *(one.tolist() for one in columns), strict=True)
        },
        "aic": fitted.aic,
    }


def mturk(folder: Path) -> dict[str, Any]:
    answers = surveys.read(
        table(folder, "rr_mturk/rr_mturk"),
        answer="RR_response",
        question="Question",
        design="RRmodel",
        p1="RRp1",
        p2="RRp2",
        person="id",
    )
    found: dict[str, Any] = {"arms": told(answers, by="design")}
    for who, truth in (("honest", 0.0), ("cheater", 1.0)):
        part = answers.of(DICE).where(cheater=who)
        found[who] = told(part, by="design")
        found[f"{who}_compliance"] = {
            design: {
                says: followed(part.where(design=design), says=says, truth=truth)
                for says in ("no", "yes", "guess")
            }
            for design in ("Forced", "Unrelated", "Crosswise")
        }
        found[f"{who}_fit"] = {d: fits(part.where(design=d)) for d in ("Forced", "Unrelated", "Crosswise")}
        compared = surveys.compare(part, by="design", against="direct")
        found[f"{who}_against_direct"] = [list(one) for one in compared.differences]
    for question in answers.questions:
        compared = surveys.compare(answers, question, against="direct")
        found.setdefault("against_direct", {})[question] = [list(one) for one in compared.differences]
    return found


def ethbe(folder: Path) -> dict[str, Any]:
    answers = surveys.read(
        table(folder, "rr_ethbe/rr_ethbe"),
        answer="RR_response",
        question="Question",
        design="RRmodel",
        p1="p1",
        p2="p2",
        person="id",
    )
    found: dict[str, Any] = {"arms": told(answers, by="expcond"), "levels": {}, "against_direct": {}}
    for question in answers.questions:
        compared = surveys.compare(answers, question, by="expcond", against="direct questioning")
        found["against_direct"][question] = {
            "differences": [list(one) for one in compared.differences],
            "p_value": compared.p_value,
        }
        for arm in ("Forced", "Crosswise", "Unrelated"):
            part = answers.of(question).where(design=arm)
            found["levels"][f"{question}, {arm}"] = {
                "fit": fits(part),
                **{says: followed(part, says=says) for says in ("no", "yes")},
            }
    return found


def minarets(folder: Path) -> dict[str, Any]:
    rows = table(folder, "rr_minarets/rr_minarets").to_pydict()
    rows["p"] = [{1: 2 / 12, 2: 10 / 12}.get(int(one)) for one in rows["condition"]]
    found = {}
    for name in ("SLD", "Warner"):
        rows["d"] = ["direct" if one == -1 else name for one in rows["RRdesign"]]
        answers = surveys.read(rows, answer="rrt", design="d", p1="p")
        asked = answers.where(RRdesign=1)
        found[name] = {"estimate": told(answers, by="condition"), "fit": fits(asked)}
        for who in ("carriers", "everyone"):
            for says in ("no", "yes"):
                found[name][f"{who} say {says}"] = followed(asked, who=who, says=says)
    return found


def wada(folder: Path) -> dict[str, Any]:
    found = {}
    for name in ("R2", "monkey", "PanAm"):
        rows: dict[str, list[Any]] = {"person": [], "question": [], "p": [], "said": []}
        for column, values in table(folder, f"rr_wada/{name}").to_pydict().items():
            question, level = column.split("_")
            for person, said in enumerate(values):
                if said is not None:
                    added = (person, question, {"p20": 0.2, "p80": 0.8}[level], said)
                    for key, value in zip(rows, added, strict=True):
                        rows[key].append(value)
        answers = surveys.read(
            rows,
            answer="said",
            question="question",
            design="Crosswise",
            p1="p",
            person="person",
            codes=WADA_CODES,
        )
        found[name] = {
            "estimate": told(answers),
            "levels": told(answers, by="p"),
            "fit": fits(answers),
            "compliance": {
                question: {says: followed(answers.of(question), says=says) for says in ("no", "yes")}
                for question in answers.questions
            },
        }
    return found


def lists(folder: Path) -> list[dict[str, Any]]:
    rows = table(folder, "list_combined/list_combined")
    found = []
    for at in range(1, 6):
        one = surveys.list_count(rows, count=f"list{at}N", treated=f"list{at}treat")
        direct = surveys.estimate(surveys.read(rows, answer=f"direct{at}", design="DQ")).of()
        found.append({**asdict(one), "direct": direct.moments, "direct_stderr": direct.stderr})
    return found


def checks(found: dict[str, Any]) -> dict[str, bool]:
    """Whether what was found is what was known."""
    nigeria = found["totals"]["nigeria"][0]
    kept = {
        "nigeria": abs(nigeria["moments"] - 0.262) < 5e-4 and abs(nigeria["stderr"] - 0.014) < 5e-4,
        "nigeria_epsilon": abs(found["totals"]["epsilon"] - 1.609437912434) < 1e-9,
        "crosswise_honest_do_not_all_follow": found["totals"]["crosswise_honest_compliance"]["share"] > 0.1,
    }
    for who, arms in EXPECTED.items() if "mturk" in found else ():
        rows = {one["group"]: (one["moments"], one["stderr"]) for one in found["mturk"][who]}
        digits = 6e-4 if who == "honest" else 6e-3
        for arm, (share, error) in arms.items():
            near = abs(rows[arm][0] - share) < digits and abs(rows[arm][1] - error) < 1.1 * digits
            kept[f"mturk_{who}_{arm}"] = near
    return kept


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="the folder of the surveys' folders")
    parser.add_argument("--smoke", action="store_true", help="totals only")
    parser.add_argument("--out", type=Path, help="where to write the JSON; else it is printed")
    given = parser.parse_args()
    begun = time.perf_counter()
    found: dict[str, Any] = {"totals": totals()}
    if given.data is not None and not given.smoke:
        parts = {part.__name__: part for part in (nigeria, mturk, ethbe, minarets, wada, lists)}
        found |= {name: part(given.data) for name, part in parts.items()}
    found["checks"] = checks(found)
    found["seconds"] = round(time.perf_counter() - begun, 1)
    text = json.dumps(found, indent=1)
    if given.out is None:
        print(text)
    else:
        given.out.write_text(text + "\n", "utf-8")
        print("\n".join(f"{name}: {'kept' if ok else 'NOT KEPT'}" for name, ok in found["checks"].items()))
    if not all(found["checks"].values()):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
