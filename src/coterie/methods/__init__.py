"""Methods that train: a file for each paper, and what they share."""
