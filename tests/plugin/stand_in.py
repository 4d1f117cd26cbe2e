"""Stands where ``python`` stands in a command: the prepared process forks the program, which gets our words, folder,
environment, limit of files and descriptors, and we end as it ends. A script of its own: it starts in an instant.

    python -I -S stand_in.py SOCKET -m pytest ...
"""

import json
import os
import resource
import socket
import sys

order = json.dumps(
    {
        "words": sys.argv[2:],
        "cwd": os.getcwd(),  # noqa: PTH109 - pathlib takes longer to import than the rest
        "env": dict(os.environ),
        "size": resource.getrlimit(resource.RLIMIT_FSIZE),
    }
).encode()
with socket.socket(socket.AF_UNIX) as prepared:
    prepared.connect(sys.argv[1])
    socket.send_fds(prepared, [len(order).to_bytes(8, "big")], [0, 1, 2])
    prepared.sendall(order)
    status = int(prepared.recv(8) or 70)  # nothing: the prepared process has died
if status < 0:
    os.kill(os.getpid(), -status)
sys.exit(status)
