"""Arrays of a tree through contact and the parameters of its growth, as compiled code takes them."""

from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from contact_mpc.planning.tree.growth.metric import Metrics
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.code.separate_code import NO_CODE
from contact_mpc.settings.named_arrays import Shape

IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
ROOT, EXTENSION, REGRASP = 0, 1, 2
SMOOTHED, UNSMOOTHED, EXTENDED, KEPT_EXTENSIONS, REGRASPED, KEPT_REGRASPS = 0, 1, 2, 3, 4, 5
SCRATCH = 2  # rows beyond the nodes, for candidates


class Tree(NamedTuple):
    """Nodes in flat arrays with room for N, and two rows more.

    q : (N, n_q), u : (N, n_a) command that holds the robot there;  parent : (N,), kind : (N,) of the edge from it
    path : (N, WAYPOINTS, n_a) commands of a regrasp's free motion;  posture : (N,) it closes from, -1 without
    moving : (N, n_a) joints that move then;  metrics : see `metric`
    refusals : (N,) of extensions, regrasps : (N,) tried there;  goal_distance : (N,) in the global metric
    stretch : (N, n_a) u - q_a after the smoothed step;  stretch_B : (N, n_a, n_a) its derivative by u
    counts : (6,) steps solved smoothed and unsmoothed, extensions tried and kept, regrasps tried and kept
    size : (1,);  best : (2,) node nearest to the goal, node that reached it or -1
    """

    q: Annotated[FloatArray, Shape("N", "n_q")]
    u: Annotated[FloatArray, Shape("N", "n_a")]
    parent: Annotated[IntArray, Shape("N", dtype=np.int64, fill=-1)]
    kind: Annotated[IntArray, Shape("N", dtype=np.int64)]
    path: Annotated[FloatArray, Shape("N", "WAYPOINTS", "n_a")]
    posture: Annotated[IntArray, Shape("N", dtype=np.int64, fill=-1)]
    moving: Annotated[BoolArray, Shape("N", "n_a", dtype=np.bool_)]
    metrics: Metrics
    refusals: Annotated[FloatArray, Shape("N")]
    regrasps: Annotated[FloatArray, Shape("N")]
    goal_distance: Annotated[FloatArray, Shape("N")]
    stretch: Annotated[FloatArray, Shape("N", "n_a")]
    stretch_B: Annotated[FloatArray, Shape("N", "n_a", "n_a")]
    counts: Annotated[IntArray, Shape(6, dtype=np.int64)]
    size: Annotated[IntArray, Shape(1, dtype=np.int64)]
    best: Annotated[IntArray, Shape(2, dtype=np.int64)]


class GrowthCodes(NamedTuple):
    """Addresses of the parts of an iteration in this process, see `contact_mpc.settings.code.separate_code`."""

    write_node: int
    extension_command: int
    sample_contact: int
    make_regrasp: int
    regrasp: int
    extend_on: int


NO_GROWTH_CODES = GrowthCodes(*[NO_CODE] * 6)


class Growth(NamedTuple):
    """Parameters of growth, see `RrtConfig` and `Problem`.

    gamma_scale : (n_v_u,) roots of the ratios of gamma of each row to `gamma`
    lower, upper : (n_a,) commands;  load : (n_a,) largest |u - q_a|;  weight : (n_v_u,) of the global metric
    object_lower, object_upper : (n_v_u,) bounds of q_u minus the goal, infinite for rotations of free objects
    turns : (n_v_u,) bool;  tolerance : (2,) rad, m;  length : m that count as 1 rad;  deepest : penetration, m
    is_local : whether the nearest node is that of the local metric;  run : steps towards one target, at most
    is_selective : whether extensions without progress are refused, and nodes that refused are tried less
    codes : see `growth.codes`
    """

    step: float
    gamma: float
    gamma_scale: FloatArray
    kappa_smoothed: float
    kappa_check: float
    least_progress: float
    progress_halvings: int
    candidates: int
    contact_probability: float
    is_local: bool
    lower: FloatArray
    upper: FloatArray
    load: FloatArray
    weight: FloatArray
    object_lower: FloatArray
    object_upper: FloatArray
    turns: BoolArray
    tolerance: FloatArray
    length: float
    deepest: float
    run: int
    is_selective: bool
    codes: GrowthCodes

    def __reduce__(self) -> tuple[type["Growth"], tuple[Any, ...]]:
        """Leave the addresses behind: they hold in this process alone."""
        return Growth, (*self._replace(codes=NO_GROWTH_CODES),)


class Stage(NamedTuple):
    """Nodes that growth looks at: the node `root` and those from `first` on."""

    root: int
    first: int
