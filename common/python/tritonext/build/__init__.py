"""The build backend of extensions: ``build-backend = "tritonext.build"`` in a ``pyproject.toml``."""
