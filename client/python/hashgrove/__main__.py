"""The command hashgrove: python -m hashgrove is the program of the wheel."""

from __future__ import annotations

import os
import subprocess
import sys

from .worker import program


def main() -> int:
    """Run the program in place of this process, where the system can."""
    args = [program(), *sys.argv[1:]]
    if os.name != "nt":
        os.execv(args[0], args)
    try:
        return subprocess.call(args)
    except KeyboardInterrupt:  # which the program has had too
        return 130


if __name__ == "__main__":
    sys.exit(main())
