"""Self-contained HTML pages: figures, tables, animation. Reads results, computes none."""
