"""The variables that keep linear algebra on one thread; they count where they are set before numpy is loaded."""

SINGLE_THREADED = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
