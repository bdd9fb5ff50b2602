"""The suites. Each module has ``run(environment, timer, seconds, wanted)``, which yields records, and
``problems(record)``, which says what is wrong with one.
"""
