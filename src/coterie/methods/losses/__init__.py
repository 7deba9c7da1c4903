"""Losses and heads that several methods share, as functions of tensors."""
