"""The gate: what is committed must be what was run, and its scores no worse than before."""
