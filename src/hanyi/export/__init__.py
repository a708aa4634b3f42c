"""A trained model in the formats of other toolkits."""
