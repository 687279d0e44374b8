"""One file for each engine, with a function for each job that it can do.

A job takes a `Target`, makes everything ready and gives the function whose run is timed; that gives a `dict` of numbers
or Arrow data, from which the numbers are made that all engines must agree on.
"""
