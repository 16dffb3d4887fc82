"""Ways found by random motions in a physics engine, where the model of trees promises what physics refuses.

Needs no dynamics of ours, and no engine in particular: who calls brings one.
"""
