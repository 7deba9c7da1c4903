"""The estimator, the methods that train nothing, and all methods by name."""
