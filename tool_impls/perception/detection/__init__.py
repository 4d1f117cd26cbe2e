"""Finding and counting things in pictures and videos: the back end ``[tools.detection]`` and its three tools."""
