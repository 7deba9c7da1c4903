"""Methods that the papers compare with; one file per family."""
