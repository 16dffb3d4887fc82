"""Systems of two shapes: they load, touch in contacts of their own kind, and one step has finite derivatives."""

from pathlib import Path

import numpy as np

from contact_mpc.cli.bench.dynamics.bench_audit import audit_block
from contact_mpc.cli.bench.dynamics.pair_systems import write_pair_systems
from contact_mpc.cli.bench.dynamics.pairs_workload import PAIRS, SHAPES
from contact_mpc.model.system_builder import load_system


def test_every_pair_is_a_system_whose_converged_steps_are_right(tmp_path: Path) -> None:
    files = write_pair_systems(tmp_path)
    assert [file.stem for file in files] == [f"{first}-{second}" for first, second in PAIRS]
    for file, kinds in zip(files, PAIRS, strict=True):
        system = load_system(file)
        assert len(system.pairs) == 1
        assert [g.shape.kind for g in system.geometries] == [SHAPES[kind].kind for kind in kinds]
        found = audit_block(str(file), "log_barrier", 3, seed=5)
        assert found.converged >= 1 and found.wrong_steps == 0
        assert np.isfinite(list(found.worst.values())).all()
