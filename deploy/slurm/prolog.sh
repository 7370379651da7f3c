#!/bin/sh
# Prolog of Slurm: lists the job in the file of each of its GPUs, from which podgpu takes the label hpc_job.
# It always succeeds, because Slurm drains a node whose prolog fails; what went wrong is in the system's log.
PATH=/usr/sbin:/usr/bin:/sbin:/bin
umask 022
jobs=${PODGPU_JOBS:-/run/podgpu-jobs}

say() { logger -t podgpu-prolog "job ${SLURM_JOB_ID:-?}: $*" 2>/dev/null || echo "podgpu-prolog: $*" >&2; }

# The indices of a list such as "0,2-4", one per line.
indices() {
  printf '%s\n' "$1" | tr ',' '\n' | while IFS=- read -r first last; do
    case $first$last in
      '' | *[!0-9]*) ;;
      *) seq "$first" "${last:-$first}" ;;
    esac
  done
}

# A file is replaced as a whole, so podgpu never reads half a list.
add_job() {
  if ! grep -qxF "$SLURM_JOB_ID" "$jobs/$1" 2>/dev/null; then
    { cat "$jobs/$1" 2>/dev/null; echo "$SLURM_JOB_ID"; } >"$jobs/.new" && mv "$jobs/.new" "$jobs/$1"
  fi
}

case ${SLURM_JOB_ID:-} in
  '' | *[!0-9]*)
    say "SLURM_JOB_ID is not a number; no job is listed"
    exit 0
    ;;
esac
case ${CUDA_VISIBLE_DEVICES:-} in
  *MIG-*)
    say "the job has MIG instances, whose numbers Slurm does not give; it is not listed"
    exit 0
    ;;
esac
[ -n "${SLURM_JOB_GPUS:-}" ] || exit 0 # A job without GPUs.
{
  mkdir -p "$jobs" && exec 9>"$jobs/.lock" && flock -w 10 9 && for gpu in $(indices "$SLURM_JOB_GPUS"); do
    add_job "$gpu" || say "$jobs/$gpu cannot be written"
  done
} || say "$jobs cannot be written, or is locked"
exit 0
