// tidy: table
#include "tests/conformance/conformance_lines.h"

namespace podgpu {
namespace {

constexpr ConformanceLine kDefects[] = {
    {"1", "kubelet asked per group and scrape; labels vanish when it fails",
     "ChecklistProgram.Line09NothingIsLostForGood", "asked at its own pace; its last answer stays"},
    {"2", "one failing read fails the scrape",
     "DeviceFailure.AFieldThatCannotBeReadIsAbsentForItsReasonAndNothingElse",
     "that value is absent, with a reason that is counted"},
    {"3", "a lost connection ends the process",
     "EngineThatComesBack.AnEngineThatIsKilledAndStartedAgainIsWatchedAnew", "it is made anew"},
    {"4", "profiling fields vanish at a reload",
     "Reload.SighupReadsTheFileAtOnceAndKeepsProfilingFields", "they stay"},
    {"5", "a bad list at a reload ends the process",
     "Reload.ABrokenFileIsRefusedAndAMendedOneTakenOver", "the old list stays"},
    {"6", "groups are made twice and never released", "Defects.ListsThatChangeLeaveNoGroupBehind",
     "made once, and replaced"},
    {"7", "no reload after a GPU has come or gone",
     "DefectsOfReloads.AreTakenAfterAGpuHasComeAndGone", "each is taken"},
    {"8", "kinds of rows that appear later are never shown",
     "DefectsOfLinks.KindsOfRowsThatAppearLaterAreShown", "they are, at the next look for devices"},
    {"9, 10", "a line on standard output can spin or stop the process",
     "DefectsOfOutput.AreNobodysBusiness", "standard output is not read back"},
    {"11", "`--no-hostname` has no effect", "Checklist.Line05HostnameLabel", "it has"},
    {"12", "every switch is `nvswitch0`", "GoldenPage.OfSwitchesLinksCpusAndCores", "its own id"},
    {"13", "no escaping, random order, repeated headers", "Defects.HostileNamesAreEscaped",
     "valid for a strict parser"},
    {"15", "every scrape has DCGM read everything anew",
     "ExporterTest.ScrapesAndTicksGoOnWhileTheDriverAndTheKubeletBothHang",
     "a scrape calls nobody"},
    {"16", "2147483632 to 2147483635 are taken for blanks", "UpstreamPages.BlankValues",
     "the same: NVML's blanks cannot be told from these numbers"},
    {"17", "a MIG device of unknown parent crashes rows of switches and CPUs",
     "Defects.AnUnknownMigDeviceTouchesNoOtherRow", "it is counted as unmatched"},
    {"18", "pod labels repeat the names of other labels",
     "DcgmView.APodLabelTakesNoNameThatIsOnTheRow", "what is on the row keeps its name"},
    {"19", "0 per pod where processes cannot be seen",
     "TickTest.CountsTheNumbersOfPodsThatNobodyKnows", "no row, and a count of what is missing"},
    {"20", "claims: v1beta1 only, a start that waits, stale devices, MIG rows unmatched",
     "ExporterTest.FollowsTheClaimsOfDevicesThatResourceSlicesDescribe",
     "v1 to v1beta1, nothing waits, slices are followed, instances have their claims"},
    {"21", "job files: read by every scrape; errors fail it",
     "JobRefresherTest.ServesTheOtherFilesWhenOneCannotBeRead", "read at their own pace"},
    {"23", "ids of GPUs must be 0 to N-1", "Defects.IdsOfGpusMayHaveGaps", "any"},
    {"24", "GPUs that come and go are seen once",
     "DeviceFailure.AGpuThatFallsOffTheBusIsLostKeepsItsIdentityAndReturns",
     "always, without a flag"},
    {"25", "the swap of a ConfigMap volume is not seen",
     "Reload.ASwappedConfigMapVolumeIsTakenOver", "it is"},
    {"27", "a lost GPU repeats its last values",
     "DeviceFailure.AGpuWhoseSamplesStandStillIsUnresponsiveAndTheOthersGoOn",
     "they are withdrawn after `--stale-after`"},
    {"28", "a slow kubelet truncates scrapes",
     "ExporterTest.ScrapesAndTicksGoOnWhileTheDriverAndTheKubeletBothHang", "scrapes never wait"},
    {"29", "dumps without bound; their clean-up removes foreign files",
     "DumpsTest.OldOnesAreRemovedAndNothingElse", "bounded, and only dumps are removed"},
    {"30", "the shipped 1.x list gives duplicate series",
     "CountersCsv.TakesTheFirstOfTwoLinesOfOneNameAndWarns", "the second line adds nothing"},
    {"31", "profiling is asked of GPU 0 only", "DcgmWatch.WatchesTheProfilingFieldsThatAGpuOffers",
     "once per model of GPU"},
    {"33", "nothing about itself", "OperationsDocument.HasASectionForEveryFamilyAboutPodgpuItself",
     "[operations.md](operations.md)"},
};

}  // namespace

std::span<const ConformanceLine> DefectLines() { return kDefects; }

}  // namespace podgpu
