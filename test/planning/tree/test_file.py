"""Tree files: read back as written, refused for another problem, version or format."""

from pathlib import Path

import numpy as np
import pytest

from contact_mpc.errors import PlanError
from contact_mpc.planning.tree.file import ARRAYS, load_tree, save_tree
from contact_mpc.planning.tree.plan import GlobalPlan
from contact_mpc.planning.tree.problem import load_problem
from contact_mpc.settings.array_files import read_arrays, write_arrays


def test_tree_file_is_read_back_and_refused_for_another_problem(found: GlobalPlan, tmp_path: Path) -> None:
    save_tree(tmp_path / "tree.npz", found.trees[0])
    stored = load_tree(tmp_path / "tree.npz", found.trees[0].problem)
    assert np.array_equal(stored.q, found.trees[0].tree.q)
    with pytest.raises(PlanError, match="a tree of system 'planar_hand_ball', not 'allegro_ball'"):
        load_tree(tmp_path / "tree.npz", load_problem("allegro_ball"))


@pytest.mark.parametrize(("key", "value", "words"), [("format", "x", "not a tree of format"), ("version", "0", "0")])
def test_files_of_another_format_or_version_are_refused(
    found: GlobalPlan, tmp_path: Path, key: str, value: str, words: str
) -> None:
    path = tmp_path / "tree.npz"
    save_tree(path, found.trees[0])
    header, arrays = read_arrays(path, "tree", ARRAYS)
    write_arrays(path, "tree", {**header, key: value}, arrays)
    with pytest.raises(PlanError, match=words):
        load_tree(path)


def test_a_file_without_an_array_is_refused(found: GlobalPlan, tmp_path: Path) -> None:
    path = tmp_path / "tree.npz"
    save_tree(path, found.trees[0])
    header, arrays = read_arrays(path, "tree", ARRAYS)
    write_arrays(path, "tree", header, {name: arrays[name] for name in ARRAYS if name != "parent"})
    with pytest.raises(PlanError, match="tree.npz"):
        load_tree(path)
