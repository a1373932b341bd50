"""G9: noise comes from the operating system alone; no process, thread or seed repeats another's."""

from __future__ import annotations

import multiprocessing
import random
import threading
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest

from suffice.core import laws, randomness
from suffice.mechanisms import draw

LAW = laws.Laplace(2**60, 4)


def drawn(_place=0):
    """Four numbers of sixty bits: two draws agree with probability below 2^-100."""
    return tuple(draw.noise(LAW))


def seeded(place):
    random.seed(0)
    np.random.seed(0)  # noqa: NPY002  the old generator is what a careless sampler would use
    return drawn(place)


def repeats(pairs):
    """Equal ones among so many 64-bit draws, taken a block at a time."""
    words = np.frombuffer(randomness.octets(16 * pairs), np.uint64).reshape(2, pairs)
    return int((words[0] == words[1]).sum()) + (2 * pairs - len(np.unique(words)))


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("way", ["fork", "spawn"])
def test_processes_draw_different_noise(way):
    if way not in multiprocessing.get_all_start_methods():
        pytest.skip("this system does not fork")
    here = [drawn(), seeded(0), seeded(0)]
    context = multiprocessing.get_context(way)
    with ProcessPoolExecutor(2, mp_context=context) as pool:
        found = [*pool.map(seeded, range(8)), *pool.map(drawn, range(8)), *here]
    assert len(set(found)) == len(found)


def test_threads_draw_different_noise():
    found = []
    threads = [threading.Thread(target=lambda: found.append(drawn())) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(found)) == 16


def test_seeds_of_other_generators_change_nothing():
    assert len({seeded(place) for place in range(20)}) == 20


def test_no_two_draws_of_sixty_four_bits_agree():
    assert repeats(100_000) == 0


@pytest.mark.laws
def test_no_two_draws_of_sixty_four_bits_agree_at_full_size(gate):
    """A true source repeats one of two million with probability 1e-7."""
    found = repeats(1_000_000)
    gate("G9", "0 equal draws in 10^6 pairs; fork, spawn, threads, seeds", f"{found} equal", "a fixed seed")
    assert found == 0


def test_a_seeded_source_would_be_caught(monkeypatch):
    monkeypatch.setattr(randomness.os, "urandom", lambda count: np.random.default_rng(0).bytes(count))
    assert drawn() == drawn()
    assert len({seeded(place) for place in range(20)}) == 1
