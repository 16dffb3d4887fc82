"""Steps and derivatives free whatever they allocate, though most of their functions count no references."""

import os
import subprocess
import sys

import pytest

STEPS = """
import sys
import numpy as np
from numba.core.runtime import rtsys
from contact_mpc.dynamics.batch import step_batch
from contact_mpc.dynamics.contact_dynamics import ContactDynamics
from contact_mpc.model.system_builder import load_system

def held():
    stats = rtsys.get_allocation_stats()
    return stats.mi_alloc - stats.mi_free

system = load_system(sys.argv[1])
smoothed, exact = ContactDynamics(system), ContactDynamics(system, "socp")
rng, counts = np.random.default_rng(3), []
for _ in range(4):
    for k in range(12):
        q = system.integrate(system.q_default, rng.normal(0.0, 0.02 * k, system.n_v))
        u = q[system.n_q_u :].copy()
        smoothed.linearize(q, u), exact.linearize(q, u), step_batch(smoothed, q[None], u[None])
    counts.append(held())
print(rtsys.get_allocation_stats().mi_alloc, *counts)
"""


@pytest.mark.parametrize("name", ["allegro_ball", "allegro_plate", "iiwa_bimanual_box", "planar_hand_ball"])
def test_steps_free_what_they_allocate(name: str) -> None:
    """Arrays that compiled code made and did not free, after each of four rounds: none more than after the first."""
    environment = {**os.environ, "NUMBA_NRT_STATS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", STEPS, name], capture_output=True, text=True, check=True, env=environment
    )
    allocated, first, *later = map(int, done.stdout.split())
    assert allocated > 100
    assert later == [first] * 3
