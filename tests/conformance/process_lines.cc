// tidy: table
#include "tests/conformance/conformance_lines.h"

namespace podgpu {
namespace {

constexpr ConformanceLine kProcesses[] = {
    {"17", "after its end `active` is 0 and the other numbers stay",
     "ProcessView.KeepsTheLastNumbersOfAProcessThatHasEnded", ""},
    {"17", "gone after the retention; at once where there is none",
     "TableTest.RemovesARowAfterItsRetention", ""},
    {"17", "no retention", "TableTest.WithoutRetentionRemovesARowAtOnce", ""},
    {"18", "a pid that is used again is another process", "TableTest.AReusedPidMakesANewRow", ""},
    {"18", "two of equal labels", "ProcessView.HasOneLineWhereTwoProcessesHaveTheSameLabels",
     "one line, the newer process's: two of one name would cost the whole page"},
    {"19", "every form of cgroup path", "CgroupPath.ReadsEveryKnownPath", ""},
    {"19", "each cgroup version, driver and runtime leads to container and pod",
     "ProcTree.LeadsFromEveryPidToItsContainer", ""},
    {"20", "a process on two GPUs", "ProcessView.HasALineOfEachFamilyForEachGpuOfAProcess", ""},
    {"21", "any trace adds up to the millijoule, nothing falls",
     "LedgerProperty.ConservesEveryMillijouleAndNeverFalls", ""},
    {"21", "also across retention, pids that are used again, and restarts of the counter",
     "ProcessAccountsProperty.EnergyAddsUpAcrossRetentionReusedPidsAndRestarts", ""},
    {"21", "also on the whole path, while the driver errs",
     "ProcessFaults.CostNoMillijouleThatTheCounterTells", ""},
    {"22", "a counter that starts again", "Ledger.StartsAgainWhenTheCounterRestarts", ""},
    {"23", "weights of 3 to 1", "Ledger.SharesByBusyTime", ""},
    {"24", "sharing begins and ends: no jump, no freeze, no other label",
     "ProcessStatements.SharingBeginsAndEndsWithoutAJumpAFreezeOrAnotherLabel", ""},
    {"25", "energy of an interval with zero weights stays unattributed, also later",
     "Ledger.NeverChargesAnIntervalWithoutBusyTime", ""},
    {"26", "two scrapes at once", "Processes.TwoScrapesAtOnceSayTheSame", ""},
    {"queries", "each query of its documents, in a real Prometheus",
     "EnergyQueries.AreAnsweredAsTheSimulatorKnows", ""},
};

}  // namespace

std::span<const ConformanceLine> ProcessLines() { return kProcesses; }

}  // namespace podgpu
