"""Kernels of the host API."""
