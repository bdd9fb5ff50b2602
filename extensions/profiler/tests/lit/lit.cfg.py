from tritonext.testing import lit_config as configure

configure(config, lit_config, extension="profiler")  # noqa: F821
