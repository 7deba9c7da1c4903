"""Ways to train faster on a GPU; nothing else depends on them."""
