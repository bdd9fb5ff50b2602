"""Fixture extension of the SDK's own tests."""
