"""The program that puts itself between the harness and code that a model wrote.

It is started as a process of its own, with nothing but the standard library on its path and no environment; it never
runs inside the harness. Its parts are imported without ``harness`` (a start costs 15 ms instead of 60).

    supervise.py   process L: starts the rest, keeps the time limit, notices when the harness goes away
    confine.py     process I (process 1 of its own PID namespace) prepares files and network; process T becomes the code
    watch.py       what process I looks after while the code runs: memory and disk in total
    mounts.py, landlock.py, seccomp.py   one layer each
    linux.py       the system calls that Python does not offer
"""
