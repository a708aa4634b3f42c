"""What a healthy installation can do, shown line by line."""
