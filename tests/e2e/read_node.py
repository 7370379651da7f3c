"""Prints what NVIDIA's Python bindings read of the node, a line per value, for python_bindings_test.

Errors stand in a value's place, as the bindings name them.
"""

import pynvml


def told(call, *arguments):
    try:
        return call(*arguments)
    except (pynvml.NVMLError, pynvml.NVMLLibraryMismatchError) as error:
        return type(error).__name__


def texts(values):
    return " ".join(values) or "none"


def show(device, name, call, *arguments, text=str):
    value = told(call, *arguments)
    print(device, name, value if isinstance(value, str) else text(value))


def processes(entries):
    return texts([f"{entry.pid}:{entry.usedGpuMemory}" for entry in entries])


def uses(entries):
    pids = [str(entry.pid) for entry in entries]
    return texts(pids + [f"{sum(e.smUtil for e in entries)}/{sum(e.memUtil for e in entries)}"])


def read_device(device, name):
    show(name, "uuid", pynvml.nvmlDeviceGetUUID, device)
    show(name, "memory", pynvml.nvmlDeviceGetMemoryInfo, device, pynvml.nvmlMemory_v2,
         text=lambda m: f"{m.total} {m.reserved} {m.used} {m.free}")
    show(name, "processes", pynvml.nvmlDeviceGetComputeRunningProcesses, device, text=processes)
    show(name, "processes_v2", pynvml.nvmlDeviceGetComputeRunningProcesses_v2, device,
         text=processes)


def read_gpu(gpu, name):
    read_device(gpu, name)
    show(name, "name", pynvml.nvmlDeviceGetName, gpu)
    show(name, "bus", pynvml.nvmlDeviceGetPciInfo, gpu, text=lambda pci: pci.busId)
    show(name, "energy", pynvml.nvmlDeviceGetTotalEnergyConsumption, gpu)
    show(name, "power", pynvml.nvmlDeviceGetPowerUsage, gpu)
    show(name, "temperature", pynvml.nvmlDeviceGetTemperature, gpu, pynvml.NVML_TEMPERATURE_GPU)
    show(name, "sm_clock", pynvml.nvmlDeviceGetClockInfo, gpu, pynvml.NVML_CLOCK_SM)
    show(name, "utilization", pynvml.nvmlDeviceGetUtilizationRates, gpu,
         text=lambda rates: f"{rates.gpu} {rates.memory}")
    show(name, "field_83", pynvml.nvmlDeviceGetFieldValues, gpu, [83],
         text=lambda values: str(values[0].value.ullVal))
    show(name, "uses", pynvml.nvmlDeviceGetProcessUtilization, gpu, 0, text=uses)
    show(name, "uses_info", pynvml.nvmlDeviceGetProcessesUtilizationInfo, gpu, 0, text=uses)
    show(name, "accounted", pynvml.nvmlDeviceGetAccountingPids, gpu,
         text=lambda pids: texts([str(pid) for pid in pids]))
    most = told(pynvml.nvmlDeviceGetMaxMigDeviceCount, gpu)
    for index in range(0 if isinstance(most, str) else most):
        mig = told(pynvml.nvmlDeviceGetMigDeviceHandleByIndex, gpu, index)
        if not isinstance(mig, str):
            read_device(mig, f"{name}/{index}")


def main():
    pynvml.nvmlInit()
    show("node", "driver", pynvml.nvmlSystemGetDriverVersion)
    for index in range(pynvml.nvmlDeviceGetCount()):
        read_gpu(pynvml.nvmlDeviceGetHandleByIndex(index), str(index))
    pynvml.nvmlShutdown()


main()
