"""Random elastic features, and models on them."""
