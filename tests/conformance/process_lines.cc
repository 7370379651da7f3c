#include "tests/conformance/conformance_lines.h"

namespace podgpu {
namespace {

constexpr ConformanceLine kProcesses[] = {
    {"17", "after its end `active` is 0 and the other numbers stay",
     "ProcessView.KeepsTheLastNumbersOfAProcessThatHasEnded", ""},
    {"17", "gone after the retention; at once where there is none",
     "TableTest.RemovesARowAfterItsRetention", ""},
    {"17", "no retention", "TableTest.WithoutRetentionRemovesARowAtOnce", ""},
    {"18", "a reused pid is another process", "TableTest.AReusedPidMakesANewRow", ""},
    {"18", "two of equal labels", "ProcessView.HasOneLineIfTwoProcessesHaveTheSameLabels",
     "one line, that of the newer process: a duplicate would make the whole page invalid"},
    {"19", "every form of cgroup path", "CgroupPath.ReadsEveryKnownPath", ""},
    {"19", "a path with nothing but the container leads to its pod",
     "PodsOfContainersTest.AProcessGetsThePodOfItsContainer", ""},
    {"19", "each cgroup version, driver and runtime leads to container and pod",
     "ProcTree.LeadsFromEveryPidToItsContainer", ""},
    {"20", "a process on two GPUs", "ProcessView.HasALineOfEachFamilyForEachGpuOfAProcess", ""},
    {"21", "any trace adds up to the millijoule, nothing falls",
     "LedgerProperty.ConservesEveryMillijouleAndNeverFalls", ""},
    {"21", "also across retention, reused pids, and restarts of the counter",
     "ProcessAccountsProperty.EnergyAddsUpAcrossRetentionReusedPidsAndRestarts", ""},
    {"21", "also on the whole path, while the driver fails",
     "ProcessFaults.LoseNoMillijouleOfTheCounter", ""},
    {"22", "a counter that restarts from 0", "Ledger.StartsAgainWhenTheCounterRestarts", ""},
    {"23", "weights of 3 to 1", "Ledger.SharesByBusyTime", ""},
    {"24", "sharing begins and ends: no jump, no freeze, no changed label",
     "ProcessStatements.CountersAndLabelsStaySteadyWhenSharingBeginsAndEnds", ""},
    {"25", "energy of a time with zero weights has no owner, also later",
     "Ledger.NeverChargesAnIntervalWithoutBusyTime", ""},
    {"26", "two scrapes at once", "Processes.TwoScrapesAtOnceAreEqual", ""},
    {"queries", "each query of its documents, in a real Prometheus",
     "EnergyQueries.EqualTheSimulatorsTruth", ""},
};

}  // namespace

std::span<const ConformanceLine> ProcessLines() { return kProcesses; }

}  // namespace podgpu
