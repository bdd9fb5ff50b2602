"""``python -m tritonext``: the command ``tritonext`` where its script is not on the path."""

from .cli import main

if __name__ == "__main__":
    raise SystemExit(main())
