"""The program that puts itself between AgentGauge and code that a model wrote.

It is started as a process of its own, with nothing but the standard library on its path and no environment; it never
runs inside AgentGauge's process. Its parts import nothing of ``agentgauge``, so a start costs 15 ms instead of 60.

    serve.py       process S: stands ready for the programs of one script, and forks process L for each
    supervise.py   process L: starts the rest, notices when AgentGauge's process ends, brings back what the code leaves
    watch.py       what process L does while the code runs: it keeps the limits, from outside of the namespaces
    usage.py       what it reads for that: memory, processor time and disk of all processes of the sandbox
    steps.py       work that the code gets piece by piece, with a limit of time for each
    folder.py      the code's folder, in memory, of a fixed size
    confine.py     process I (process 1 of its own PID namespace) prepares files and network; process T becomes the code
    connections.py what connects these processes
    mounts.py, landlock.py, seccomp.py   one layer each
    linux.py       the system calls that Python does not offer
"""
