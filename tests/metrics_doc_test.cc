// docs/metrics.md is made from the tables here and compared; PODGPU_UPDATE_GOLDEN=1 rewrites it.
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <vector>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include <gtest/gtest.h>

#include "base/text.h"
#include "exporter/page_sections.h"
#include "exposition/text.h"
#include "fields/field.h"
#include "health/self_metrics.h"
#include "source/nvml/catalogue.h"
#include "tests/views_node.h"
#include "view/native_table.h"
#include "view/xid.h"

namespace podgpu {
namespace {

constexpr const char* kPath = "docs/metrics.md";

// Series per unpartitioned GPU, per partitioned GPU, and per MIG instance; and the further series
// of a GPU once a state or reason has been active.
struct SeriesCounts {
  size_t whole_gpu = 0;
  size_t partitioned_gpu = 0;
  size_t instance = 0;
  size_t once_held = 0;
};

SeriesCounts CountMeasures() {
  SeriesCounts counts;
  for (const Measure& measure : Measures()) {
    if (measure.shown == Shown::kOnceSeen) {
      ++counts.once_held;
      continue;
    }
    counts.whole_gpu += measure.on != MeasuredOn::kPartitionedGpus ? 1 : 0;
    counts.partitioned_gpu += measure.on != MeasuredOn::kWholeGpus ? 1 : 0;
    counts.instance += measure.instances && measure.on != MeasuredOn::kWholeGpus ? 1 : 0;
  }
  return counts;
}

enum class Chapter : uint8_t { kDevices, kProcesses, kRequests, kItself };

// Every section has its families in one of the chapters.
Chapter ChapterOf(const DescribedSection& section) {
  if (section.views.empty()) {
    return Chapter::kRequests;
  }
  if (section.of_processes) {
    return Chapter::kProcesses;
  }
  return std::ranges::count(section.views, View::kSelf) > 0 ? Chapter::kItself : Chapter::kDevices;
}

// The origin of a field with --source=nvml.
std::string FromNvml(const Field& field) {
  const std::string_view origin = NvmlOrigin(field);
  return origin.empty() ? "-" : std::string(origin);
}

// A sentence about lines that are not always present.
std::string_view WhenShown(Shown shown) {
  switch (shown) {
    case Shown::kOnceSeen:
      return " A line from the first time that it is not 0.";
    case Shown::kWhileSeen:
      return " No line while it is 0.";
    case Shown::kAlways:
      break;
  }
  return "";
}

std::string OrDash(std::string text) { return text.empty() ? "-" : text; }

// The words, each as code.
std::string InCode(const std::vector<std::string_view>& words) {
  std::string text;
  for (const std::string_view word : words) {
    absl::StrAppendFormat(&text, word.empty() ? "" : text.empty() ? "`%s`" : " `%s`", word);
  }
  return OrDash(text);
}

// The fields that feed the family, and their origins with --source=nvml.
std::string FieldCells(const FamilyDoc& doc) {
  std::vector<std::string> origins;
  for (const uint16_t id : doc.field_ids) {
    origins.push_back(FromNvml(*FindField(id)));
  }
  const auto repeated = std::ranges::unique(origins);
  origins.erase(repeated.begin(), repeated.end());
  return absl::StrFormat(" %s | %s |", OrDash(absl::StrJoin(doc.field_ids, ", ")),
                         origins.empty() ? "yes" : Listed(origins));
}

// The families of a chapter.
std::string Table(Chapter chapter) {
  const bool has_views = chapter == Chapter::kDevices || chapter == Chapter::kProcesses;
  const bool has_fields = chapter == Chapter::kDevices;
  std::string table = absl::StrFormat(
      "| family |%s type | unit | labels |%s meaning |\n|---|%s---|---|---|%s---|\n",
      has_views ? " views |" : "", has_fields ? " from field | with NVML |" : "",
      has_views ? "---|" : "", has_fields ? "---|---|" : "");
  for (const DescribedSection& section : DescribedSections()) {
    std::vector<std::string_view> views;
    for (const View view : section.views) {
      views.push_back(kViewNames.at(static_cast<size_t>(view)));
    }
    for (const FamilyDoc& doc : section.families) {
      if (ChapterOf(section) == chapter) {
        absl::StrAppendFormat(&table, "| `%s` |%s %s | %s | %s |%s %s%s |\n", doc.family.name,
                              has_views ? " " + InCode(views) + " |" : "", doc.family.type,
                              OrDash(doc.family.unit), InCode(Split(doc.labels, ',')),
                              has_fields ? FieldCells(doc) : "", doc.family.help,
                              WhenShown(doc.shown));
      }
    }
  }
  return table;
}

std::string FamilySections() {
  return "## Native families\n\n"
         "Base units, identity only on measures; a label without a value is left out. `GPU_I_ID` "
         "stands on series of\nMIG instances only, and so does `scope=\"instance\"`; sums take "
         "`scope=\"device\"`. Field numbers are DCGM's; a\nfamily without one is computed by "
         "podgpu, with either source.\n\n" +
         Table(Chapter::kDevices) +
         "\n## Processes and energy\n\n"
         "With `--process-metrics=on`, which adds the view `process` to the page; from NVML and "
         "`/proc`. The families of\nprocesses are under `--metric-prefix`. Pods are named by the "
         "API server. [energy.md](energy.md) says how energy is\napportioned and how wrong that "
         "can be.\n\n" +
         Table(Chapter::kProcesses) +
         "\n## Requested and used\n\n"
         "With `--requested-vs-used=on`, under `/metric`, and with `--query-addr` or "
         "`--query-port` on a listener of its own: gpu-manager's\nfamilies. "
         "[compatibility.md](compatibility.md#with-gpu-manager) says which request counts as "
         "what.\n\n" +
         Table(Chapter::kRequests) +
         "\n## About podgpu itself\n\n"
         "The view `self`. [operations.md](operations.md) says what to do when one of them "
         "moves.\n\n" +
         Table(Chapter::kItself);
}

std::string DcgmSection() {
  std::string section =
      "## DCGM's names\n\n"
      "What the counters file lists, under the names that it lists; this is the set that is used "
      "without a file\n([names, units and labels of other "
      "releases](compatibility.md#which-release)).\n"
      "Labels: `gpu` `UUID` `pci_bus_id` `device` `modelName`, `GPU_I_PROFILE` "
      "and `GPU_I_ID` on MIG instances,\n`Hostname`, then label fields by name, then `container` "
      "`namespace` `pod` when `-k` is on and exactly one\ncontainer holds the device; without `-k` "
      "`container` alone with `--container-labels`, a row per container. A second "
      "line of one name adds nothing; two names of one field give rows under each.\n"
      "`--kubernetes-virtual-gpus` gives a row per container that holds the device, and per share "
      "with `vgpu`;\nfields 203 and 252 then have the row of the device, and with "
      "`--process-metrics=on` one of what each of its pods\nuses. `--kubernetes-enable-dra` gives "
      "a row per container that has the device by a claim, with "
      "`dra_claim_name` `dra_claim_namespace` `dra_device_name`\n`dra_driver_name` "
      "`dra_pool_name`, and for MIG `dra_mig_profile` `dra_mig_device_uuid`.\n\n"
      "| metric | type | unit | DCGM field | with NVML | meaning |\n|---|---|---|---|---|---|\n";
  for (const Counter& counter : CountersOf(DefaultCountersCsv())) {
    section += absl::StrFormat("| `%s` | %s | %s | %d | %s | %s |\n", counter.name, counter.type,
                               counter.field->unit.empty() ? "-" : counter.field->unit,
                               counter.field->id, FromNvml(*counter.field), counter.help);
  }
  return section;
}

// Every field of the catalogue that NVML gives; "1-3" for numbers in a row.
std::string SourceSection() {
  std::map<std::string_view, std::vector<uint32_t>> ids;
  for (const Field& field : Catalogue()) {
    ids[NvmlOrigin(field)].push_back(field.id);
  }
  const auto list = [&](std::string_view origin) {
    return absl::StrReplaceAll(NumberRanges(ids[origin]), {{",", ", "}});
  };
  return absl::StrFormat(
      "## Which source gives what\n\n"
      "`--source=dcgm` serves every field that the installed DCGM knows. `--source=nvml` needs the "
      "driver alone and\nserves the fields below, with DCGM's names, units and rounding; all "
      "others are absent with the reason\n`not_in_source`. What a board or an older driver lacks "
      "is `not_supported`, as with DCGM.\n\n"
      "| how | fields |\n|---|---|\n"
      "| driver: a call of `libnvidia-ml` | %s |\n"
      "| event: as the driver tells it, from when podgpu listens | %s |\n"
      "| GPM: the profiling counters of Hopper and later | %s |\n\n"
      "NVML tells nothing of NVSwitches, of single NVLinks as parts, of CPUs, and of health "
      "(`DCGM_EXP_GPU_HEALTH_STATUS`,\n`DCGM_EXP_P2P_STATUS`). A GPU instance without a compute "
      "instance is no MIG device, and NVML does not name it.\n",
      list("driver"), list("event"), list("GPM"));
}

// The families that are always present.
size_t SlotSeriesOf(SlotView view) {
  size_t count = 0;
  const Topology none;
  const std::vector<FamilyDoc> docs = SlotFamilyDocs(view);
  const std::vector<SlotFamily> families = SlotFamiliesOf(view, &none, 0);
  for (size_t i = 0; i < docs.size(); ++i) {
    const bool is_always_shown =
        docs[i].shown == Shown::kAlways && docs[i].family.name != "podgpu_source_call_seconds";
    count += is_always_shown ? families[i].series.size() : 0;
  }
  return count;
}

// The lines of one GPU, of a pod on it and of its process; of a container with a card, for all its
// cards together and for each.
struct ProcessCounts {
  size_t gpu = 0, pod = 0, process = 0, container = 0, card = 0;
};

// Counted on the page of a node of one of each.
ProcessCounts CountProcesses() {
  const ViewsNode node(1, 0, {View::kProcess});
  ProcessCounts counts;
  for (const SeriesPlan::FamilyLines& lines : node.plan().families()) {
    for (uint32_t i = 0; i < lines.series_count; ++i) {
      const uint32_t block = node.plan().series()[lines.first_series + i].labels;
      const std::string& labels = node.plan().label_blocks()[block];
      const bool is_of_pod = labels.find("pod_uid=") != std::string::npos;
      ++(labels.find("pid=") != std::string::npos ? counts.process
         : is_of_pod                              ? counts.pod
                                                  : counts.gpu);
    }
  }
  for (const SeriesPlan::Series& series : node.requests_plan().series()) {
    const std::string& labels = node.requests_plan().label_blocks()[series.labels];
    ++(labels.find("=\"total\"") != std::string::npos ? counts.container : counts.card);
  }
  return counts;
}

std::string FormulaSection() {
  const SeriesCounts native = CountMeasures();
  const ProcessCounts one = CountProcesses();
  constexpr size_t kOtherMethods = kEnergyMethodCount - 1;  // All but `exclusive`.
  return absl::StrFormat(
      "## How many series a node has\n\n"
      "With W GPUs without MIG, P GPUs with MIG, I MIG instances, M metrics in the counters file "
      "(labels and what the\ndriver does not serve aside) and A containers that hold a device "
      "(counted once per device):\n\n"
      "- DCGM's names: M x (W + I), and M more for each GPU with MIG that has no instance; with "
      "virtual GPUs\n  M x (number of shares, and of devices without any).\n"
      "- `DCGM_EXP_*`, which are not among the M, for each GPU: XIDs one for each code in the "
      "window, clock events one\n  for each reason in it, either at least 1; health 11; paths one "
      "for each other GPU.\n"
      "- Core: 2 x (W + P) + I + A + %d, and one for each further state that a GPU has been in; "
      "two for each XID\n  code that a GPU has reported, and one for each of its containers then, "
      "256 at most.\n"
      "- Native: core, and %d x W + %d x P + %d x I; at most %d more for each GPU, as its throttle "
      "reasons and\n  recovery actions hold for the first time.\n"
      "- Processes: %d for each GPU, %d to %d for each pod on a GPU, and %d to %d for each row of "
      "a process on a GPU,\n  as more methods have charged it with energy.\n"
      "- Requested and used, on a page of its own: %d for each container, and %d more for each of "
      "its cards.\n"
      "- Self: %d, one for the state of the source, and one for each kind of call, reason and "
      "result that has been; two\n  of the %d only with a directory of batch jobs, one with TLS, "
      "two with dumps, eight with pods or ResourceSlices from\n  the API server, two with "
      "`--kubelet-pods-url`, three with `--container-labels`.\n\n"
      "A value that is not there is a series less: the driver's support decides, and "
      "`podgpu_absent_samples` counts.\n",
      SlotSeriesOf(SlotView::kCore), native.whole_gpu, native.partitioned_gpu, native.instance,
      native.once_held, one.gpu, one.pod, one.pod + kOtherMethods, one.process,
      one.process + kOtherMethods, one.container, one.card, SlotSeriesOf(SlotView::kSelf),
      SlotSeriesOf(SlotView::kSelf));
}

// "8, 11, 31 to 32": the XIDs with this action, among those that have a text.
std::string CodesOf(std::string_view action) {
  constexpr int64_t kLastCode = 172;
  std::string codes;
  for (int64_t code = 1; code <= kLastCode; ++code) {
    if (XidAction(code) != action || XidAction(code - 1) == action) {
      continue;  // Not the first code of its range.
    }
    int64_t last = code;
    while (last < kLastCode && XidAction(last + 1) == action) {
      ++last;
    }
    absl::StrAppendFormat(&codes, "%s%d", codes.empty() ? "" : ", ", code);
    if (last > code) {
      absl::StrAppendFormat(&codes, " to %d", last);
    }
  }
  return codes;
}

std::string XidSection() {
  constexpr std::pair<std::string_view, std::string_view> kActions[] = {
      {"none", "nothing: the GPU and its programs continue"},
      {"restart_app", "restart the affected program; the GPU is not damaged"},
      {"reset_gpu", "drain the GPU and reset it"},
      {"reboot_node", "drain the node and reboot it, or restart the VM"},
  };
  std::string section =
      "## XIDs\n\n"
      "The label `action` is the first step that NVIDIA's catalogue of XIDs advises, for Ampere "
      "and newer. If the same code occurs\nagain on one GPU, more is needed. "
      "`podgpu_pod_gpu_xid_errors_total` names the containers that it affected.\n\n"
      "| action | first step | codes |\n|---|---|---|\n";
  for (const auto& [action, meaning] : kActions) {
    absl::StrAppendFormat(&section, "| `%s` | %s | %s |\n", action, meaning, CodesOf(action));
  }
  return section +
         "| `investigate` | read the kernel log around it and the catalogue | all others |\n";
}

std::string Document() {
  return "# Metrics\n\n"
         "Which series podgpu serves, from which field, and how many. Made from the tables of the "
         "program by a test;\ndo not edit it by hand.\n\n" +
         FamilySections() + "\n" + DcgmSection() + "\n" + SourceSection() + "\n" + XidSection() +
         "\n" + FormulaSection();
}

TEST(MetricsDocument, EqualsTheTables) {
  if (std::getenv("PODGPU_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(kPath, std::ios::binary) << Document();
  }
  std::ifstream file(kPath, std::ios::binary);
  const std::string committed{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(committed, Document()) << "run this test with PODGPU_UPDATE_GOLDEN=1";
}

TEST(MetricsDocument, CountsAsManySeriesAsThePage) {
  struct Case {
    size_t whole, partitioned, instances_each, pods;
  };
  const SeriesCounts native = CountMeasures();
  for (const Case& c :
       std::initializer_list<Case>{{1, 0, 0, 1}, {8, 0, 0, 4}, {0, 2, 7, 2}, {0, 1, 3, 0}}) {
    const std::vector<Counter> counters = CountersOf(DefaultCountersCsv());
    const size_t gpus = c.whole + c.partitioned;
    const Grid grid =
        FilledGrid(MakeTopology(gpus, c.instances_each), FieldsOf(counters, NativeFieldIds()));
    const Owners owners = OwnersFor(grid.topology(), c.pods);
    const ViewInput input{grid, owners, counters, {}};
    const size_t instances = c.partitioned * c.instances_each;
    const auto count = [&](auto add_view) {
      PlanBuilder builder;
      add_view(input, builder);
      std::string page;
      return RenderText(std::move(builder).Build(), &grid, {}, page);
    };
    EXPECT_EQ(count(AddDcgmView), 25 * (c.whole + instances));
    EXPECT_EQ(count(AddCoreView), gpus + instances + c.pods * (c.whole + instances));
    EXPECT_EQ(count(AddMeasures), native.whole_gpu * c.whole +
                                      native.partitioned_gpu * c.partitioned +
                                      native.instance * instances);
  }
}

}  // namespace
}  // namespace podgpu
