"""Parts of long plans: played in a plant, corrected by MuJoCo roll-outs, confirmed, searched by another process.

No node, no controller: those ask for the next part through `contact_mpc.task.segment`.
"""
