"""Collects the lit tests, and skips those that need a GPU where there is none."""

pytest_plugins = ["tritonext.testing.pytest_plugin"]
