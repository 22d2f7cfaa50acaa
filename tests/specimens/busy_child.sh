# FAULT in the child: the shell only waits, its child (cpu_hot.py) burns a CPU in checksum(). Needs bash.
# shellcheck shell=bash
if [ -z "$DEA_LIFELINE" ]; then # the child brings a lifeline of its own
    DEA_LIFELINE=1 exec setpriv --pdeathsig KILL bash "$0"
fi
# The child inherits where to say ready, so the pid in that line is the child's.
"${PYTHON:-python3}" "$(dirname "$0")/cpu_hot.py" &
[ -z "$DEA_READY_FD" ] || exec {DEA_READY_FD}>&-
wait
