"""Engines of the benchmark: one module per engine, with a function for each job that it supports.

A job takes a `Target`, prepares everything and returns the function that is timed. That function returns a `dict` of
numbers or Arrow data, from which the numbers are derived that all engines must agree on.
"""
