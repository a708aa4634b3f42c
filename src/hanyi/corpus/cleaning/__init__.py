"""Cleaning: rules that repair a side or reject a pair, on blocks of rows."""
