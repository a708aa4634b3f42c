"""What a score is made of: sentences, breakdowns, the health of the output, and their report."""
