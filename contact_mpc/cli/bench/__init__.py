"""``contact-mpc bench``: measurements of this machine, each in its own file, imported when it is called.

What they measure stands elsewhere.
"""

import typer

from contact_mpc.cli.frame.lazy import Command, build_group, first_word

BENCHES = {
    "dynamics": Command(
        "contact_mpc.cli.bench.dynamics.bench_dynamics", "One smoothed step with A and B, beside four peers."
    ),
    "derivatives": Command(
        "contact_mpc.cli.bench.dynamics.bench_derivatives", "A and B against differences in random states."
    ),
    "compile": Command("contact_mpc.cli.bench.bench_compile", "What a first run compiles, by function."),
    "audit": Command(
        "contact_mpc.cli.bench.dynamics.bench_audit", "Steps of all formulations, judged by the laws alone."
    ),
    "smoothing": Command(
        "contact_mpc.cli.bench.dynamics.bench_smoothing", "The smoothed step against cones, as kappa grows."
    ),
    "mpc": Command(
        "contact_mpc.cli.bench.dynamics.bench_mpc", "One MPC iteration by horizon, and MuJoCo's mjd_transitionFD."
    ),
    "contact-implicit": Command(
        "contact_mpc.cli.bench.planning.bench_contact_implicit",
        "Random pushes planned cold and warm, beside IPOPT alone.",
    ),
    "contact-location": Command(
        "contact_mpc.cli.bench.estimation.bench_contact_location",
        "Contacts on an arm by joint torques alone: share, error, rate.",
    ),
    "planning": Command(
        "contact_mpc.cli.bench.planning.bench_planning", "Trees through contact and trajectory optimisation."
    ),
    "bridge": Command(
        "contact_mpc.cli.bench.stack.bench_bridge", "Rate, lateness and latency of the 1 kHz bridge over DDS."
    ),
    "fuzz": Command(
        "contact_mpc.cli.bench.stack.bench_fuzz", "Anything at all sent to the bridge; what leaves is judged."
    ),
    "view": Command("contact_mpc.cli.bench.stack.bench_view", "What the live view costs the bridge in lateness."),
    "goals": Command(
        "contact_mpc.cli.bench.stack.bench_goals", "Random goals in a row to a running stack, some cancelled."
    ),
    "network": Command(
        "contact_mpc.cli.bench.stack.bench_network", "The stack across two networks, and a cut between them."
    ),
    "faults": Command(
        "contact_mpc.cli.bench.stack.bench_faults", "Faults injected into the stack, judged on the wire."
    ),
}


def build_app(arguments: list[str]) -> typer.Typer:
    """Return the group of benchmarks with the one imported that `arguments` name."""
    return build_group(BENCHES, first_word(arguments), prefix="bench ", help="Measure this machine.")
