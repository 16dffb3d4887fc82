"""The whole loop in one process and in lockstep: plant, sensors, estimator, tracker, bridge, as the nodes run them.

At each millisecond t_n, in this order: the plant's state, the object poses that are due, the joint states, at the
estimator's ticks an estimate, at the tracker's ticks a plan that takes effect at t_k + plan_delay, then the bridge's
command, then one step of the plant. Cores, order and the roundings of messages (contact_mpc.loop.wire) are those of the
nodes, so the commands are too, bit for bit. The plant has its own physics and may differ from the model.
"""

import time
from collections.abc import Callable

from contact_mpc.control.bridge.bridge import BridgeCore
from contact_mpc.control.controller import ControllerSetup
from contact_mpc.control.tracking.follower import Reference
from contact_mpc.errors import StackError
from contact_mpc.estimation.state_estimator import StateEstimator
from contact_mpc.loop.config import LoopConfig
from contact_mpc.loop.controllers import make_controller
from contact_mpc.loop.holding_effort import holding_effort
from contact_mpc.loop.log import ClosedLoopResult, LoopLog
from contact_mpc.loop.wire import plan_over_wire, pose_over_wire, reference_over_wire, state_over_wire
from contact_mpc.model.system import System
from contact_mpc.plants.common.perturbation import PlantPerturbation
from contact_mpc.plants.common.plant import T0_NS, Plant, PlantState
from contact_mpc.plants.common.sensors import JointReading, SensorModel
from contact_mpc.plants.registry import make_plant
from contact_mpc.settings.units import NS_PER_S
from contact_mpc.task.loop_records import CommandPlan, EstimatedState
from contact_mpc.task.plan import Plan
from contact_mpc.task.task import TaskConfig

STALE = ("joints_stale", "pose_stale")  # on such an estimate the tracker node holds


class ClosedLoop:
    """One run, step by step.

    Parameters
    ----------
    system : System
        Model of controller and plant.
    task : TaskConfig
        Start, goal and times.
    plan : Plan
        Reference of the tracker.
    config : LoopConfig
        Parts of the loop.
    perturbation : PlantPerturbation, optional
        What differs between the plant and the model; nothing by default.
    seed : int
        Seed of the sensor noise.

    Attributes
    ----------
    replacements : list of (float, Plan)
        What took the place of the plan, and from when on, s of the motion.
    """

    def __init__(
        self,
        system: System,
        task: TaskConfig,
        plan: Plan,
        config: LoopConfig,
        perturbation: PlantPerturbation | None = None,
        seed: int = 0,
    ) -> None:
        self._system, self._config = system, config
        start_ns = T0_NS + round(config.start_delay_s * NS_PER_S)
        self.log = LoopLog(system, task, plan, start_ns)
        self._plant = self._make_plant(perturbation)
        self._plant.reset(task.start_q)
        self._sensors = SensorModel(system, config.sensors, seed)
        self._estimator = StateEstimator(system, config.estimator)
        tracker = config.tracker.model_copy(update={"task": str(task.path)})
        self._tracker = make_controller(ControllerSetup(system, tracker, config.comparison, seed, task=task))
        self._estimator.warm_up()
        self._tracker.warm_up()
        self.log.errors_of(*system.object_pose(task.start_q))  # compiled before time runs
        self._tracker.set_reference(Reference(start_ns, reference_over_wire(system, plan)))
        self._bridge = BridgeCore(system, config.bridge, lockstep=True)
        self._bridge.activate()
        self._tau_before = holding_effort(system, task, config.bridge.gravity_compensation)
        self._estimate_period_ns = NS_PER_S // config.estimate_rate_hz
        self._q_guess = system.q_default
        self.replacements: list[tuple[float, Plan]] = []

    @property
    def plant(self) -> Plant:
        """The plant, to look at."""
        return self._plant

    def run(
        self,
        progress: Callable[[float], None] | None = None,
        stop_when_dropped: bool = False,
        stop_when_settled: bool = False,
    ) -> ClosedLoopResult:
        """Run to the end of the task's hold.

        Parameters
        ----------
        progress : callable, optional
            Called with the simulated seconds of each step of the tracker.
        stop_when_dropped : bool
            Whether to end as soon as the object is lost.
        stop_when_settled : bool
            Whether to end as soon as the object has been at the goal for the time of the hold.
        """
        end_ns = self.log.end_ns
        while self._plant.time_ns <= end_ns:
            if (stop_when_dropped and self.log.dropped) or (stop_when_settled and self.log.has_settled):
                break
            if progress is not None and self._plant.time_ns % self._config.bridge.period_ns == 0:
                progress((self._plant.time_ns - T0_NS) * 1e-9)
            self.step()
        return self.log.result()

    def step(self) -> None:
        """Advance by one step of the plant."""
        state = self._plant.state(with_contacts=False)
        reading = self._read_sensors(state)
        estimate = self._estimate(reading)
        if estimate is not None and state.t_ns % self._config.bridge.period_ns == 0:
            self._bridge.update_plan(self._plan(estimate))
        command = self._bridge.step(reading.t_ns, reading.q_a, reading.v_a, tau=reading.tau)
        if command is None:
            raise StackError(f"the bridge gave no command at {state.t_ns} ns: {self._bridge.safety.describe()}")
        self.log.add_step(state, command)
        self._plant.step(command.data)

    def _make_plant(self, perturbation: PlantPerturbation | None) -> Plant:
        bridge = self._config.bridge
        return make_plant(
            self._config.engine,
            self._system,
            bridge.command_interface,
            perturbation,
            gravity_compensation=bridge.gravity_compensation == "robot",
        )

    def _read_sensors(self, state: PlantState) -> JointReading:
        tau = self._tau_before if state.t_ns == T0_NS else state.tau_applied
        reading = self._sensors.sample(state.t_ns, state.q, state.v, tau)
        for pose in self._sensors.object_poses_due(state.t_ns):
            self._estimator.update_object_pose(pose.stamp_ns, *pose_over_wire(pose.R_WB, pose.p_WB))
        return reading

    def _estimate(self, reading: JointReading) -> EstimatedState | None:
        """Return the estimate at the estimator's ticks, as the tracker receives it."""
        if reading.t_ns % self._estimate_period_ns:
            return None
        self._estimator.update_joints(reading.t_ns, reading.q_a, reading.v_a, reading.tau)
        state = self._estimator.estimate(reading.t_ns)
        if state is not None:
            self.log.add_estimate(state)
        return state

    def _plan(self, estimate: EstimatedState) -> CommandPlan:
        state = state_over_wire(self._system, estimate, self._q_guess)
        self._q_guess = state.q
        if state.status in STALE:
            self._tracker.hold(state.t_ns)
            plan = CommandPlan.hold(state.t_ns, self._system.n_a)
            self.log.add_plan(plan, state.status)
            return plan
        started_s = time.process_time()
        output = self._tracker.step(state)
        cpu_ms = 1e3 * (time.process_time() - started_s)
        if output.replacement is not None:
            self.replacements.append(output.replacement)
        plan = plan_over_wire(output.plan)
        self.log.add_plan(plan, output.status, output.solve_ms, cpu_ms, output.iterations, output.note)
        return plan


def run_closed_loop(
    system: System,
    task: TaskConfig,
    plan: Plan,
    config: LoopConfig,
    *,
    perturbation: PlantPerturbation | None = None,
    seed: int = 0,
    progress: Callable[[float], None] | None = None,
    stop_when_dropped: bool = False,
    stop_when_settled: bool = False,
) -> ClosedLoopResult:
    """Run one task to the end of its hold; see `ClosedLoop` and `ClosedLoop.run` for the arguments."""
    return ClosedLoop(system, task, plan, config, perturbation, seed).run(
        progress, stop_when_dropped, stop_when_settled
    )
