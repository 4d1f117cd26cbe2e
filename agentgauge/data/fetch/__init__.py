"""Official data sets by one command: download, check, unpack, verify (``agentgauge fetch``), and what is here
(``agentgauge data``)."""
