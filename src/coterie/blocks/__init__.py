"""Formulas on tensors and arrays: one idea per file, no file imports another."""
