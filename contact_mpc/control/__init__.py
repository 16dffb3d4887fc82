"""MPC on the smoothed linearisation, joint impedance law, guarded commands."""
