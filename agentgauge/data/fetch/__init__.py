"""Official data sets by one command: download, check, unpack, verify (``agentgauge fetch``), and the list of data sets
on this machine (``agentgauge data``)."""
