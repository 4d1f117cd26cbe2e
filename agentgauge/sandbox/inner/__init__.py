"""The program that puts itself between AgentGauge and code that a model wrote.

It is started as a process of its own, with nothing but the standard library on its path and no environment; it never
runs inside AgentGauge's process. Its parts import nothing of ``agentgauge``, so a start costs 15 ms instead of 60.

    serve.py       process S: stands ready for the programs of one script, and forks process L for each
    supervise.py   process L: starts the rest, notices when AgentGauge's process ends, gives the code its work step by
                   step, brings back what the code leaves
    watch.py       what process L does while the code runs: it measures and keeps the limits, from outside
    confine.py     process I (process 1 of its own PID namespace) prepares files and network; process T becomes the code
    mounts.py      the files that the code sees, and its folder, in memory, of a fixed size
    linux.py       system calls, Landlock and the seccomp filter
"""
