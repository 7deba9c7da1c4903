"""Finished runs as a service over HTTP: predict, search, edit and update, for many clients.

Everything is done by :class:`coterie.runs.Run` and what it is made of; this package adds the way
there: one batch for the texts of many requests, rights, limits, and a run that is replaced while
it is served.
"""
