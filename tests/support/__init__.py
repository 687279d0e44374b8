"""Helpers that are shared by tests."""
