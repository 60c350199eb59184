"""``python -m perfline …`` is ``perfline …``, with the program that was installed beside this package.

``record`` runs here, because what it records runs in this Python; all else is the program's.
"""

import os
import subprocess
import sys

from perfline._binary import NotFound, find


def main():
    if sys.argv[1:2] == ["record"]:
        from perfline import _record

        sys.exit(_record.main(sys.argv[2:]))
    try:
        command = [find(), *sys.argv[1:]]
    except NotFound as error:
        sys.exit(f"perfline: {error}")
    if sys.platform == "win32":
        # There, `exec` returns to the shell before the program is done.
        sys.exit(subprocess.run(command, check=False).returncode)
    os.execv(command[0], command)


if __name__ == "__main__":
    main()
