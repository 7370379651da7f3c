#!/usr/bin/env bash
# The prolog and the epilog of Slurm keep the lists of jobs, and podgpu shows them on the rows of a simulated node.
. "$(dirname "$0")/lib.sh"

unpack_packages
scripts="$work/unpacked/usr/share/podgpu/slurm"
export PODGPU_JOBS="$work/jobs"
# prolog JOB GPUS [CUDA_VISIBLE_DEVICES]; Slurm passes no PATH.
prolog() { env -i PODGPU_JOBS="$PODGPU_JOBS" SLURM_JOB_ID="$1" SLURM_JOB_GPUS="$2" CUDA_VISIBLE_DEVICES="${3:-}" "$scripts/prolog.sh"; }
epilog() { env -i PODGPU_JOBS="$PODGPU_JOBS" SLURM_JOB_ID="$1" "$scripts/epilog.sh"; }
lists() { (cd "$PODGPU_JOBS" && for list in [0-9]*; do if [[ -f $list ]]; then printf '%s=%s ' "$list" "$(paste -sd+ "$list")"; fi; done); }

epilog 1 || fail "the epilog fails without a folder"
prolog 1001 0,2-3
expect "after the first job" "$(lists)" "0=1001 2=1001 3=1001 "
prolog 1002 3
prolog 1002 3
expect "after a second job on GPU 3, twice" "$(lists)" "0=1001 2=1001 3=1001+1002 "
prolog 100 1
epilog 100
expect "after a job whose number begins others" "$(lists)" "0=1001 2=1001 3=1001+1002 "
prolog 1003 0 MIG-11111111-2222-3333-4444-555555555555
prolog 1004 ""
prolog 'x; rm' 0
prolog 1005 '../5,a,7-'
expect "after jobs that cannot be listed" "$(lists)" "0=1001 2=1001 3=1001+1002 7=1005 "
epilog 1001
epilog 1005
expect "after the end of the first job" "$(lists)" "3=1002 "

# Jobs that begin at the same moment do not lose each other.
for job in 11 12 13 14 15 16; do
  prolog $job 4-5 &
  children+=("$!")
done
for child in "${children[@]}"; do wait "$child"; done
children=()
expect "jobs of GPU 4" "$(sort "$PODGPU_JOBS/4" | paste -sd+)" "11+12+13+14+15+16"
for job in 11 12 13 14 15 16; do epilog $job; done
expect "after their end" "$(lists)" "3=1002 "

# A folder that cannot be written must not drain the node.
: >"$work/file"
for script in prolog epilog; do
  PODGPU_JOBS="$work/file" SLURM_JOB_ID=1 SLURM_JOB_GPUS=0 "$scripts/$script.sh" 2>/dev/null || fail "$script.sh fails"
done

start_node demo
start "$work/podgpu.log" env PODGPU_SIM_DIR="$work/node" "$work/unpacked/usr/bin/podgpu" -a "unix:$work/metrics.sock" -c 1000 \
  --libnvidia-ml="$work/node/lib/libnvidia-ml.so.1" --sysfs-root="$work/node/sys" --hpc-job-mapping-dir="$PODGPU_JOBS"
page() { curl -s --max-time 10 --unix-socket "$work/metrics.sock" http://podgpu/metrics; }
shows() { page | grep '^DCGM_FI_DEV_GPU_TEMP{gpu="3"' | grep -q "hpc_job=\"$1\""; }
hides() { page | grep '^DCGM_FI_DEV_GPU_TEMP{gpu="3"' | grep -qv hpc_job; }
await "job 1002 on GPU 3" shows 1002
epilog 1002
await "GPU 3 without a job" hides
prolog 1006 3
await "job 1006 on GPU 3" shows 1006
