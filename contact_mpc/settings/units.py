"""Factors between units that everything shares."""

NS_PER_S = 1_000_000_000  # stamps are integer ns; x / NS_PER_S and round(x * NS_PER_S) are those of 1e9 to the last bit
