"""Contact steps without smoothing: SOCP, QP and LCP, polished by active sets, with A and B from their conditions."""
