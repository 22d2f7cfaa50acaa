# HEALTHY twin of busy_child.sh: a shell script that looks around every five seconds. Needs bash.
# shellcheck shell=bash
if [ -z "$DEA_LIFELINE" ]; then
    DEA_LIFELINE=1 exec setpriv --pdeathsig KILL bash "$0"
fi
if [ -n "$DEA_READY_FD" ]; then
    echo "ready pid=$$" >&"$DEA_READY_FD"
    exec {DEA_READY_FD}>&-
else
    echo "ready pid=$$"
fi
for _ in $(seq 24); do
    setpriv --pdeathsig KILL sleep 5
done
