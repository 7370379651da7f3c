#!/bin/sh
# Epilog of Slurm: removes the job from the lists that the prolog wrote.  It always succeeds, as the prolog does.
PATH=/usr/sbin:/usr/bin:/sbin:/bin
umask 022
jobs=${PODGPU_JOBS:-/run/podgpu-jobs}

say() { logger -t podgpu-epilog "job ${SLURM_JOB_ID:-?}: $*" 2>/dev/null || echo "podgpu-epilog: $*" >&2; }

# Writes the list again without the job; an empty list is removed.
remove_job() {
  grep -vxF "$SLURM_JOB_ID" "$1" >"$jobs/.new"
  if [ -s "$jobs/.new" ]; then
    mv "$jobs/.new" "$1"
  else
    rm -f "$1" "$jobs/.new"
  fi
}

[ -n "${SLURM_JOB_ID:-}" ] && [ -d "$jobs" ] || exit 0
{
  exec 9>"$jobs/.lock" && flock -w 10 9 && for list in "$jobs"/[0-9]*; do
    if grep -qxF "$SLURM_JOB_ID" "$list" 2>/dev/null; then
      remove_job "$list" || say "$list cannot be written"
    fi
  done
} || say "$jobs cannot be written, or is locked"
exit 0
