#!/bin/bash
# Submits a run in shards with a tool server of its own, and puts the shards together when they have ended.
#
#   bash submit.sh SHARDS FOLDER [arguments of pytest]
#   ARRAY=3,5 bash submit.sh SHARDS FOLDER [the same arguments]     # these shards once more; finished cases are kept
#
# FOLDER is on a disk that all nodes share. `pytest` and `agentgauge` are those of the environment that is active now.
set -eu
export SHARDS=$1 FOLDER=$2
shift 2
here=$(dirname "$0")

mkdir -p -m 700 "$FOLDER"
rm -f "$FOLDER/tool-server" # of an earlier server

TOOLS_JOB=$(sbatch --parsable "$here/tools.sbatch")
export TOOLS_JOB
array=$(sbatch --parsable --array="${ARRAY:-1-$SHARDS}" --dependency="after:$TOOLS_JOB" "$here/shards.sbatch" "$@")
merge=$(sbatch --parsable --dependency="afterany:$array" "$here/merge.sbatch")
echo "tool server $TOOLS_JOB, shards $array, merge $merge"
