"""How good the translations of the test split are, and how sure that is."""
