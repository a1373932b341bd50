"""What can be learned from randomised answers, and what is lost: three published statements. JSON, plots.

P4 figure 1: where training ends with infinitely many noisy votes, by true share and flip level, for the
likelihood of the noisy votes, for votes that the model reconstructs, for training on noise as it comes,
and for the Hellinger distance in place of the likelihood's divergence (P4 equations 39 and 40).
P4 section 3, voting: votes through a channel of this package, estimated in four ways, beside the limits
of expectation steps with few samples. P1 figure 3: how much of the attainable precision moments keep, by
enumeration, and measured on simulated answers. `checks` compares with figures known beforehand.

    python benchmarks/papers/randomised_response.py [--smoke] [--out FOLDER]

Nothing is downloaded. FOLDER gets randomised_response.json, reconstruction and efficiency (SVG and PNG).
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

mpl.use("Agg")
mpl.rcParams.update(
    {
        "svg.fonttype": "none",
        "svg.hashsalt": "suffice",
        "font.size": 9,
        "axes.spines.top": False,
        "axes.spines.right": False,
    }
)

from matplotlib import pyplot as plt  # noqa: E402  after the backend is chosen

from suffice import channels  # noqa: E402
from suffice.planning import asymptotic, spread  # noqa: E402

FLIPS = (0.0, 0.1, 0.2, 0.3, 0.4)
CORNERS = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=float)
SIGNALS = {"weak": (2.0, -0.1), "strong": (5.0, -1.0), "none": (0.0, 0.0)}
EPSILONS = (0.01, 0.1, 0.3, 0.5, 0.9)
RECORDED = {  # by enumeration, independently of this package
    "weak": (0.818270319774205, 0.8390074998645612, 0.884039985423516, 0.926871530458596, 0.9944530811895159),
    "strong": (
        0.7306637774985238,
        0.7481412268998245,
        0.7838586962949801,
        0.8188586274773794,
        0.9064539298750628,
    ),
    "none": (1.0,) * 5,
}
SAMPLED = {1: 0.644, 2: 0.7117647058823531, 10: 0.8251073359753583, 100: 0.8892037471274808}
LOOKS = {  # colour, line
    "likelihood of the noisy votes": ("#0072b2", "-"),
    "reconstruction": ("#d55e00", "-"),
    "noise as it comes": ("#999999", "--"),
    "Hellinger distance": ("#009e73", ":"),
}


def ends(flip: float, true_share: float, grid: np.ndarray) -> dict[str, float]:
    """Where each objective settles; the open ones are searched on a grid that nearly reaches 0 and 1."""
    noise = spread.VoteNoise(flip, flip)
    ones = noise.observed(true_share)
    distance = spread.hellinger()
    rebuilt = [noise.reconstruction(share, true_share) for share in grid]
    far = [distance.expected(noise.observed(share), ones) for share in grid]
    return {
        "likelihood of the noisy votes": noise.estimate(ones),
        "reconstruction": float(grid[np.argmax(rebuilt)]),
        "noise as it comes": ones,
        "Hellinger distance": float(grid[np.argmin(far)]),
    }


def figure_1(points: int) -> list[dict[str, Any]]:
    grid = np.linspace(1e-6, 1 - 1e-6, 401 if points < 20 else 1001)
    shares = np.linspace(0, 1, points)
    return [
        {"flip": flip, "true_share": float(share), "ends": ends(flip, share, grid)}
        for flip in FLIPS
        for share in shares
    ]


def voting(votes: int) -> dict[str, Any]:
    """Votes of which 62 % are one; 10 % of the zeros and 30 % of the ones are told wrongly."""
    channel = channels.Matrix.of([[0.9, 0.1], [0.3, 0.7]], (0, 1))
    noise = spread.VoteNoise(0.1, 0.3)
    truth = np.arange(votes) < round(0.62 * votes)
    told = np.asarray(channel.randomise(truth.astype(int)))
    ones = float(told.mean())
    share, steps = 0.5, 0
    while steps < 10_000 and abs((after := noise.step(share, ones)) - share) > 1e-13:
        share, steps = after, steps + 1
    return {
        "votes": votes,
        "epsilon": channel.guarantee().promise.epsilon,
        "truth": float(truth.mean()),
        "noise as it comes": ones,
        "moments": float(channel.unbias(told)[:, 1].mean()),
        "likelihood": noise.estimate(ones),
        "expectation steps": share,
        "steps": steps,
        "as printed": (ones + 0.1) / 0.6,
        "stderr": float(np.sqrt(ones * (1 - ones) / votes) / 0.6),
    }


def sampled() -> dict[str, float]:
    return {str(samples): spread.sampled_fixed_point(0.2, 0.9, samples) for samples in SAMPLED}


def scored(theta: np.ndarray, counts: np.ndarray, table: np.ndarray, rounds: int = 30) -> np.ndarray:
    """The marginal maximum likelihood by Fisher scoring, begun near it."""
    for _ in range(rounds):
        law = asymptotic.state_law(CORNERS, theta)
        answers = table @ law
        slope = table @ (law[:, None] * (CORNERS - law @ CORNERS)) / answers[:, None]
        step = asymptotic.marginal_variance(CORNERS, theta, table) @ (counts @ slope)
        theta = theta + step
        if np.abs(step).max() < 1e-10:
            break
    return theta


def simulated(theta: tuple[float, float], truth: float, repeats: int, rows: int) -> dict[str, float]:
    """The efficiency from `repeats` simulated samples: one covariance of errors against the other."""
    draws = np.random.default_rng(5)
    table = asymptotic.randomised_response(truth, np.full(4, 0.25))
    answers = table @ asymptotic.state_law(CORNERS, theta)
    shares = draws.multinomial(rows, answers, size=repeats) / rows
    means = (shares @ CORNERS - (1 - truth) * 0.5) / truth
    moments = np.log(means) - np.log1p(-means)  # corners are independent bits: θ is a logit
    best = np.array([scored(np.array(theta), one, table) for one in shares])
    errors = [(found - theta) for found in (best, moments)]
    first, second = (one.T @ one / repeats for one in errors)
    return {"truth": truth, "efficiency": float(np.trace(np.linalg.solve(second, first)) / 2)}


def figure_3(repeats: int) -> dict[str, Any]:
    grid = np.linspace(0.01, 1, 100)
    exact = {
        name: [asymptotic.efficiency(CORNERS, theta, truth) for truth in grid]
        for name, theta in SIGNALS.items()
    }
    points = {
        name: [asymptotic.efficiency(CORNERS, theta, truth) for truth in EPSILONS]
        for name, theta in SIGNALS.items()
    }
    measured = {
        name: [simulated(SIGNALS[name], truth, repeats, 4_000_000) for truth in EPSILONS[2:]]
        for name in ("weak", "strong")
    }
    return {"grid": grid.tolist(), "exact": exact, "points": points, "simulated": measured}


def checks(found: dict[str, Any]) -> dict[str, bool]:
    """Whether what was found is what was known."""
    votes, noisy = found["voting"], [one for one in found["figure_1"] if one["flip"] > 0]
    inner = [one for one in noisy if 0 < one["true_share"] < 1 and abs(one["true_share"] - 0.5) > 1e-9]
    room = 2 / np.sqrt(found["repeats"])  # four to five standard errors
    return {
        "likelihood_finds_every_share": all(
            abs(one["ends"]["likelihood of the noisy votes"] - one["true_share"]) < 1e-12 for one in noisy
        ),
        "reconstruction_ends_in_certainty": all(
            abs(one["ends"]["reconstruction"] - (one["true_share"] > 0.5)) < 1e-5 for one in inner
        ),
        "hellinger_misses": any(
            abs(one["ends"]["Hellinger distance"] - one["true_share"]) > 0.05 for one in inner
        ),
        "voting_within_five_standard_errors": abs(votes["likelihood"] - votes["truth"]) < 5 * votes["stderr"],
        "voting_moments_are_the_likelihood": abs(votes["moments"] - votes["likelihood"]) < 1e-9,
        "voting_steps_reach_it": abs(votes["expectation steps"] - votes["likelihood"]) < 1e-9,
        "sampled_steps": all(
            abs(found["sampled_steps"][str(samples)] - known) < 1e-6 for samples, known in SAMPLED.items()
        ),
        "figure_3": all(
            np.allclose(found["figure_3"]["points"][name], known, rtol=0, atol=1e-8)
            for name, known in RECORDED.items()
        ),
        "figure_3_simulated": all(
            abs(one["efficiency"] - RECORDED[name][EPSILONS.index(one["truth"])]) < room
            for name, row in found["figure_3"]["simulated"].items()
            for one in row
        ),
    }


def draw_reconstruction(rows: list[dict[str, Any]]) -> plt.Figure:
    figure, axes = plt.subplots(1, len(FLIPS), figsize=(12.2, 3.1), sharey=True, layout="constrained")
    for axis, flip in zip(axes, FLIPS, strict=True):
        here = [one for one in rows if one["flip"] == flip]
        for name, (colour, line) in LOOKS.items():
            axis.plot(
                [one["true_share"] for one in here],
                [one["ends"][name] for one in here],
                line,
                color=colour,
                label=name,
                linewidth=1.6,
            )
        axis.set_title(f"flip {flip:g}")
        axis.set_xlabel("true share of ones")
        axis.set_aspect("equal")
    axes[0].set_ylabel("share that training ends at")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False)
    return figure


def draw_efficiency(found: dict[str, Any]) -> plt.Figure:
    figure, axes = plt.subplots(1, 2, figsize=(7.2, 3.1), sharey=True, layout="constrained")
    for axis, name in zip(axes, ("weak", "strong"), strict=True):
        axis.plot(found["grid"], found["exact"][name], color="#0072b2", label="by enumeration")
        axis.plot(EPSILONS, RECORDED[name], "o", color="#1a1a1a", markersize=4, label="recorded")
        told = found["simulated"][name]
        axis.plot(
            [one["truth"] for one in told],
            [one["efficiency"] for one in told],
            "x",
            color="#d55e00",
            label="simulated",
        )
        axis.axhline(1, color="#b0b0b0", linewidth=0.9, linestyle="--", label="all states as likely")
        axis.set_title(f"{name} signal, θ = {list(SIGNALS[name])}")
        axis.set_xlabel("probability of a true answer")
        axis.set_ylim(0.6, 1.05)
    axes[0].set_ylabel("efficiency of moments")
    axes[1].legend(loc="lower right", frameon=False)
    return figure


def write(found: dict[str, Any], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "randomised_response.json").write_text(json.dumps(found, indent=1) + "\n", "utf-8")
    figures = {
        "reconstruction": draw_reconstruction(found["figure_1"]),
        "efficiency": draw_efficiency(found["figure_3"]),
    }
    for name, figure in figures.items():
        figure.savefig(folder / f"{name}.svg", metadata={"Date": None, "Title": name})
        figure.savefig(folder / f"{name}.png", dpi=130)
        plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--smoke", action="store_true", help="few points, few votes, few samples")
    parser.add_argument("--out", type=Path, help="the folder for JSON and plots; else checks are printed")
    given = parser.parse_args()
    begun = time.perf_counter()
    repeats = 100 if given.smoke else 4000
    found: dict[str, Any] = {
        "repeats": repeats,
        "figure_1": figure_1(11 if given.smoke else 101),
        "voting": voting(20_000 if given.smoke else 1_000_000),
        "sampled_steps": sampled(),
        "figure_3": figure_3(repeats),
    }
    found["checks"] = {name: bool(kept) for name, kept in checks(found).items()}
    found["seconds"] = round(time.perf_counter() - begun, 1)
    if given.out is not None:
        write(found, given.out)
    print(json.dumps({name: found[name] for name in ("voting", "sampled_steps", "seconds")}, indent=1))
    print("\n".join(f"{name}: {'kept' if kept else 'NOT KEPT'}" for name, kept in found["checks"].items()))
    if not all(found["checks"].values()):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
