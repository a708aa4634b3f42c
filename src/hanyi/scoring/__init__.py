"""How good the translations of the test split are, how sure that is, and whether it suffices."""
