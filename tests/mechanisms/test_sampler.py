"""The sampler's own duties: exact rounding, refinement, fresh bits, threads and forks."""

from __future__ import annotations

import os
import random
import signal
import threading
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pytest
from flint import arb, ctx

from suffice.core import randomness
from suffice.core.errors import InputError, PrivacyError
from suffice.mechanisms import ball, sampler

if TYPE_CHECKING:
    from collections.abc import Callable

SCALE = Fraction(2**40, 3)


class BitStrings:
    """One fixed endless bit string per uniform, handed out in whatever pieces are asked for."""

    def __init__(self, uniforms: int, seed: int) -> None:
        source = np.random.default_rng(seed)
        self.strings = [source.bytes(512) for _ in range(uniforms)]
        self.at = 0
        self.reads = 0

    def __call__(self, count: int) -> bytes:
        size = count // len(self.strings)
        pieces = [string[self.at : self.at + size] for string in self.strings]
        self.at += size
        self.reads += 1
        return b"".join(pieces)


def laws() -> list[tuple[str, sampler.Ideal]]:
    return [
        ("laplace", sampler.laplace(SCALE, 7)),
        ("gaussian", sampler.gaussian(SCALE, 7)),
        ("l2, odd dimension", sampler.l2_laplace(SCALE, 5)),
        ("l2, even dimension", sampler.l2_laplace(SCALE, 6)),
        ("l2, one dimension", sampler.l2_laplace(SCALE, 1)),
        ("cube", sampler.cube(SCALE, 4)),
        ("gaussian contrast", sampler.gaussian(SCALE, 3, classes=4)),
        ("l2 contrast", sampler.l2_laplace(SCALE, 3, classes=3)),
    ]


@pytest.mark.parametrize(("name", "law"), laws())
def test_the_number_of_starting_bits_never_changes_what_is_drawn(name: str, law: sampler.Ideal) -> None:
    for seed in range(20):
        narrow, wide, wider = (BitStrings(law.uniforms, seed) for _ in range(3))
        drawn = sampler.exactly_rounded(law, start_bits=32, read=narrow)
        assert narrow.reads > 1, f"{name} did not reach the refining branch"
        assert drawn == sampler.exactly_rounded(law, start_bits=256, read=wide)
        assert drawn == sampler.exactly_rounded(law, start_bits=1024, read=wider)
        assert wide.reads == wider.reads == 1


def test_a_guess_from_few_bits_would_have_been_another_number() -> None:
    """The control of the test above: the middle of a 32-bit cell is not the ideal point."""
    law = sampler.laplace(SCALE, 7)
    exact = sampler.exactly_rounded(law, read=BitStrings(law.uniforms, 3))
    cut = BitStrings(law.uniforms, 3)
    guessed = sampler.exactly_rounded(law, read=lambda count: _first_bytes(cut(count), law.uniforms, keep=4))
    assert guessed != exact


def _first_bytes(octets: bytes, uniforms: int, keep: int) -> bytes:
    size = len(octets) // uniforms
    pieces = (octets[at : at + keep] + b"\x80" + bytes(size - keep - 1) for at in range(0, len(octets), size))
    return b"".join(pieces)


def test_laplace_noise_agrees_with_decimal_arithmetic() -> None:
    law = sampler.laplace(SCALE, 1)
    with localcontext(prec=120):
        for seed in range(200):
            strings = BitStrings(2, seed)
            top, bottom = (int.from_bytes(string[:48], "big") for string in strings.strings)
            ideal = (Decimal(top) / Decimal(bottom)).ln() * SCALE.numerator / SCALE.denominator
            nearest = int((ideal + Decimal("0.5")).to_integral_value(rounding="ROUND_FLOOR"))
            assert sampler.exactly_rounded(law, read=strings) == [nearest]


def test_cube_noise_agrees_with_decimal_arithmetic() -> None:
    law = sampler.cube(SCALE, 2)
    with localcontext(prec=120):
        for seed in range(100):
            strings = BitStrings(5, seed)
            u = [Decimal(int.from_bytes(string[:48], "big")) / 2**384 for string in strings.strings]
            length = -(u[2] * u[3] * u[4]).ln() * SCALE.numerator / SCALE.denominator
            ideal = [length * (2 * side - 1) for side in u[:2]]
            nearest = [int((x + Decimal("0.5")).to_integral_value(rounding="ROUND_FLOOR")) for x in ideal]
            assert sampler.exactly_rounded(law, read=strings) == nearest


def test_a_shift_by_an_integer_commutes_with_the_rounding() -> None:
    def shifted(law: sampler.Ideal, by: int) -> sampler.Ideal:
        return sampler.Ideal(law.uniforms, lambda u: [x + by for x in law.point(u)], law.scale)

    law = sampler.laplace(Fraction(8), 5)
    for seed in range(50):
        drawn = sampler.exactly_rounded(law, read=BitStrings(10, seed))
        moved = sampler.exactly_rounded(shifted(law, 3), read=BitStrings(10, seed))
        assert moved == [value + 24 for value in drawn]


def test_a_source_that_never_decides_is_refused_and_never_guessed() -> None:
    for law in (sampler.laplace(SCALE, 2), sampler.l2_laplace(SCALE, 3), sampler.cube(SCALE, 1)):
        with pytest.raises(PrivacyError, match="undecided after"):
            sampler.exactly_rounded(law, start_bits=8, read=bytes)


def test_a_scale_far_beyond_the_starting_bits_is_refined_and_not_refused() -> None:
    drawn = sampler.rounded_gaussian(Fraction(2**1500), 3)
    assert all(1400 < abs(value).bit_length() < 1510 for value in drawn)


@pytest.mark.parametrize(
    ("draw", "length"),
    [
        (lambda: sampler.rounded_laplace(SCALE, 5), 5),
        (lambda: sampler.rounded_gaussian(SCALE, 5), 5),
        (lambda: sampler.rounded_l2_laplace(SCALE, 5), 5),
        (lambda: sampler.rounded_cube(SCALE, 5), 5),
        (lambda: sampler.rounded_gaussian(SCALE, 5, classes=4), 15),
        (lambda: sampler.rounded_l2_laplace(SCALE, 5, classes=2), 5),
    ],
)
def test_a_draw_is_a_list_of_python_integers(draw: Callable[[], list[int]], length: int) -> None:
    drawn = draw()
    assert len(drawn) == length
    assert all(type(value) is int for value in drawn)
    assert drawn != draw()


def test_all_bits_come_from_the_operating_system_and_their_number_is_fixed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[int] = []
    real = os.urandom

    def counting(count: int) -> bytes:
        asked.append(count)
        return real(count)

    monkeypatch.setattr(randomness.os, "urandom", counting)
    sampler.rounded_laplace(SCALE, 10)
    sampler.rounded_l2_laplace(SCALE, 10)
    assert asked == [20 * 32, (5 + 12) * 32]


def test_seeding_other_generators_does_not_repeat_a_draw() -> None:
    random.seed(0)
    first = sampler.rounded_laplace(SCALE, 4)
    random.seed(0)
    assert sampler.rounded_laplace(SCALE, 4) != first


def test_uniform_bits_fill_their_range_and_nothing_else() -> None:
    assert randomness.bits(0) == 0
    assert {randomness.bits(3) for _ in range(500)} == set(range(8))
    assert max(randomness.bits(67) for _ in range(200)).bit_length() > 60
    assert len(randomness.octets(5)) == 5
    with pytest.raises(InputError, match="negative"):
        randomness.octets(-1)


def test_the_precision_of_the_process_is_left_as_it_was() -> None:
    before = ctx.prec
    sampler.rounded_gaussian(SCALE, 3)
    with pytest.raises(PrivacyError):
        sampler.exactly_rounded(sampler.laplace(SCALE, 1), start_bits=8, read=bytes)
    assert ctx.prec == before


def test_threads_draw_what_one_thread_would() -> None:
    law = sampler.l2_laplace(SCALE, 8)
    expected = [
        sampler.exactly_rounded(law, start_bits=32, read=BitStrings(law.uniforms, n)) for n in range(80)
    ]
    drawn: dict[int, list[int]] = {}

    def work(mine: range) -> None:
        for n in mine:
            drawn[n] = sampler.exactly_rounded(law, start_bits=32, read=BitStrings(law.uniforms, n))

    threads = [threading.Thread(target=work, args=(range(start, 80, 4),)) for start in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [drawn[n] for n in range(80)] == expected


def test_a_precision_changed_by_a_stranger_costs_a_refinement_and_not_the_law() -> None:
    law = sampler.laplace(SCALE, 3)
    expected = sampler.exactly_rounded(law, read=BitStrings(6, 1))

    def meddled(uniforms: list[arb]) -> list[arb]:
        if strings.reads == 1:
            ctx.prec = 20
        return law.point(uniforms)

    strings = BitStrings(6, 1)
    drawn = sampler.exactly_rounded(sampler.Ideal(6, meddled, SCALE), read=strings)
    assert strings.reads > 1
    assert drawn == expected


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_in_the_middle_of_another_threads_draw_can_draw_and_draws_afresh() -> None:
    inside, leave = threading.Event(), threading.Event()

    def hold() -> None:
        with ball.precision(64):
            inside.set()
            leave.wait(0.2)

    holder = threading.Thread(target=hold)
    holder.start()
    inside.wait()
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(20)  # a lock inherited locked would wait for ever
        os.write(writer, repr(sampler.rounded_laplace(SCALE, 4)).encode())
        os._exit(0)
    leave.set()
    _, status = os.waitpid(child, 0)
    assert status == 0
    holder.join()
    theirs = os.read(reader, 4096).decode()
    assert theirs.startswith("[")
    assert theirs != repr(sampler.rounded_laplace(SCALE, 4))


@pytest.mark.parametrize(
    "ask",
    [
        lambda: sampler.rounded_laplace(Fraction(0), 1),
        lambda: sampler.rounded_gaussian(Fraction(-1), 1),
        lambda: sampler.rounded_cube(Fraction(1), 0),
        lambda: sampler.rounded_l2_laplace(Fraction(1), 1, classes=1),
        lambda: sampler.exactly_rounded(sampler.laplace(SCALE, 1), start_bits=12),
    ],
)
def test_numbers_that_make_no_law_are_refused(ask: Callable[[], object]) -> None:
    with pytest.raises(InputError, match="got"):
        ask()
