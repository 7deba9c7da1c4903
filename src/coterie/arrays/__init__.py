"""Arrays in, arrays out: one idea per file; no texts, no files."""
