"""How good the translations are, with the signature that makes each figure comparable."""
