// docs/metrics.md is made from the tables here and compared; PODGPU_UPDATE_GOLDEN=1 rewrites it.
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <vector>

#include "absl/strings/str_format.h"
#include <gtest/gtest.h>

#include "exposition/text.h"
#include "fields/field.h"
#include "health/self_metrics.h"
#include "source/nvml/catalogue.h"
#include "tests/node_fixture.h"
#include "view/accounting_view.h"
#include "view/energy_reading_view.h"
#include "view/energy_view.h"
#include "view/native_table.h"
#include "view/pod_use_view.h"
#include "view/process_view.h"
#include "view/vcuda_view.h"
#include "view/view.h"
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

bool IsOfXids(std::string_view name) { return name.find("_gpu_xid_") != name.npos; }

std::string FieldsOfFamily(std::string_view name) {
  std::string fields;
  std::set<uint16_t> seen;
  for (const Measure& measure : Measures()) {
    if (measure.name == name && seen.insert(measure.field_id).second) {
      fields += (fields.empty() ? "" : ", ") + std::to_string(measure.field_id);
    }
  }
  return !fields.empty() ? fields : IsOfXids(name) ? "230" : "-";
}

std::string LabelsOfFamily(std::string_view name) {
  if (IsOfXids(name)) {
    return name.starts_with("podgpu_pod_")
               ? "`gpu` `UUID` `namespace` `pod` `container` `shared` `xid` `action`"
               : "`gpu` `UUID` `xid` `action`";
  }
  for (const Measure& measure : Measures()) {
    if (measure.name == name) {
      std::string labels = measure.instances ? "`gpu` `UUID` `GPU_I_ID` `scope`" : "`gpu` `UUID`";
      return measure.extra_label.empty() ? labels
                                         : labels + " `" + std::string(measure.extra_label) + "`";
    }
  }
  if (name == "podgpu_gpu_info") {
    return "`gpu` `UUID` `hostname` `model` `pci_bus_id` `device` `serial` `vbios_version` "
           "`driver_version` `mig`";
  }
  return name == "podgpu_gpu_instance_info"
             ? "`gpu` `UUID` `GPU_I_ID` `profile`"
             : "`gpu` `UUID` `GPU_I_ID` `namespace` `pod` `pod_uid` `container` `resource` `claim` "
               "`shared`";
}

// The origin of a field with --source=nvml.
std::string FromNvml(const Field& field) {
  const std::string_view origin = NvmlOrigin(field);
  return origin.empty() ? "-" : std::string(origin);
}

std::string FamilyFromNvml(std::string_view name) {
  std::string all;
  for (const Measure& measure : Measures()) {
    const std::string origin = FromNvml(*FindField(measure.field_id));
    if (measure.name == name && all.find(origin) == std::string::npos) {
      all += (all.empty() ? "" : ", ") + origin;
    }
  }
  return !all.empty() ? all : IsOfXids(name) ? "event" : "driver";
}

std::string NativeSection() {
  std::string section =
      "## Native families\n\n"
      "The view `native` has all of them, the view `core` those that say so. Base units, identity "
      "only on measures; a label\nwithout a value is left out. `GPU_I_ID` stands on series of MIG "
      "instances only, and so does `scope=\"instance\"`; sums\ntake `scope=\"device\"`. Field "
      "numbers are DCGM's.\n\n"
      "| family | core | type | unit | labels | from field | with NVML | meaning |\n"
      "|---|---|---|---|---|---|---|---|\n";
  const auto add = [&](const std::vector<Family>& families, std::string_view core) {
    for (const Family& family : families) {
      section += absl::StrFormat("| `%s` | %s | %s | %s | %s | %s | %s | %s |\n", family.name, core,
                                 family.type, family.unit.empty() ? "-" : family.unit,
                                 LabelsOfFamily(family.name), FieldsOfFamily(family.name),
                                 FamilyFromNvml(family.name), family.help);
    }
  };
  add(CoreFamilies(), "yes");
  add(MeasureFamilies(), "-");
  return section;
}

std::string ProcessSection() {
  std::string section =
      "## Processes and energy\n\nWith `--process-metrics=on`, from NVML and `/proc`: the view "
      "`process`, which that adds to the page. Those of GPUs and pods are in the\nview `native` "
      "too; those of processes are under `--metric-prefix`. Pods are named by the API server. "
      "[energy.md](energy.md) says how energy is apportioned and how wrong that can be.\n\n"
      "| family | type | unit | labels | meaning |\n|---|---|---|---|---|\n";
  const auto add = [&](const Family& family, std::string_view labels) {
    section += absl::StrFormat("| `%s` | %s | %s | %s | %s |\n", family.name, family.type,
                               family.unit.empty() ? "-" : family.unit, labels, family.help);
  };
  add(EnergyByMethodFamily(), "`gpu` `UUID` `method`");
  add(EnergyReadingFamily(), "`gpu` `UUID`");
  for (const Family& family : AccountingFamilies()) {
    add(family, "`gpu` `UUID`");
  }
  for (const Family& family : PodUseFamilies()) {
    const bool by_method = family.name == PodUseFamilies().front().name;
    add(family, by_method ? "`gpu` `UUID` `namespace` `pod` `pod_uid` `container` `shared` `method`"
                          : "`gpu` `UUID` `namespace` `pod` `pod_uid` `container` `shared`");
  }
  const std::string labels =
      "`container` `container_id` `gpu` `namespace` `pid` `pod` `pod_uid` `process_name`";
  for (const Family& family : ProcessFamilies(kProcessPrefix)) {
    add(family, labels);
  }
  add(ProcessEnergyByMethodFamily(), labels + " `UUID` `method`");
  return section;
}

std::string VcudaSection() {
  std::string section =
      "## Requested and used\n\nWith `--requested-vs-used=on`, under `/metric`, and with "
      "`--query-addr` or `--query-port` on a listener of its own: gpu-manager's\nfamilies. "
      "[compatibility.md](compatibility.md#with-gpu-manager) says which request counts as what.\n\n"
      "| family | type | unit | labels | meaning |\n|---|---|---|---|---|\n";
  for (const Family& family : VcudaFamilies()) {
    const bool of_memory = family.name.find("memory") != std::string::npos;
    const bool is_asked = family.name.find("request") != std::string::npos;
    section += absl::StrFormat(
        "| `%s` | %s | %s | `container_name` `namespace` `node` `pod_name` `%s` | %s |\n",
        family.name, family.type,
        of_memory  ? "MiB"
        : is_asked ? "cards"
                   : "percent",
        VcudaLabelOf(family.name), family.help);
  }
  return section;
}

std::string DcgmSection() {
  std::string section =
      "## DCGM's names\n\n"
      "What the counters file lists, under the names that it lists; this is the set that is used "
      "without a file.\nLabels: `gpu` `UUID` `pci_bus_id` `device` `modelName`, `GPU_I_PROFILE` "
      "and `GPU_I_ID` on MIG instances,\n`Hostname`, then label fields by name, then `container` "
      "`namespace` `pod` when `-k` is on and exactly one\ncontainer holds the device. A second "
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
  std::map<std::string_view, std::vector<uint16_t>> ids;
  for (const Field& field : Catalogue()) {
    ids[NvmlOrigin(field)].push_back(field.id);
  }
  const auto list = [&](std::string_view origin) {
    std::string text;
    const std::vector<uint16_t>& all = ids[origin];
    for (size_t i = 0; i < all.size(); ++i) {
      const size_t first = i;
      while (i + 1 < all.size() && all[i + 1] == all[i] + 1) {
        ++i;
      }
      text += (text.empty() ? "" : ", ") + std::to_string(all[first]);
      text += i == first ? "" : "-" + std::to_string(all[i]);
    }
    return text;
  };
  return absl::StrFormat(
      "## Which source gives what\n\n"
      "`--source=dcgm` serves every field that the installed DCGM knows. `--source=nvml` needs the "
      "driver alone and\nserves the fields below, with DCGM's names, units and rounding; all "
      "others "
      "are absent with the reason\n`not_in_source`. What a board or an older driver lacks is "
      "`not_supported`, as with DCGM.\n\n"
      "| how | fields |\n|---|---|\n"
      "| driver: a call of `libnvidia-ml` | %s |\n"
      "| event: as the driver tells it, from when podgpu listens | %s |\n"
      "| GPM: the profiling counters of Hopper and later | %s |\n\n"
      "NVML tells nothing of NVSwitches, of single NVLinks as parts, of CPUs, and of health "
      "(`DCGM_EXP_GPU_HEALTH_STATUS`,\n`DCGM_EXP_P2P_STATUS`). A GPU instance without a compute "
      "instance is no MIG device, and NVML does not name it.\n",
      list("driver"), list("event"), list("GPM"));
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

std::string SlotRows(SlotView view) {
  std::string rows;
  for (const SlotFamilyDoc& doc : SlotFamilyDocs()) {
    if (doc.view == view) {
      rows += absl::StrFormat("| `%s` | %s | %s | %s | %s |\n", doc.name, doc.type,
                              doc.unit.empty() ? "-" : doc.unit,
                              doc.labels.empty() ? "-" : absl::StrFormat("`%s`", doc.labels),
                              absl::StrFormat("%s%s", doc.help, WhenShown(doc.shown)));
    }
  }
  return rows;
}

std::string SlotSection() {
  constexpr std::string_view kHead =
      "| family | type | unit | labels | meaning |\n|---|---|---|---|---|\n";
  return absl::StrFormat(
      "## State of devices\n\nPart of the views `core` and `native`; computed by the "
      "exporter.\n\n%s%s\n"
      "## About podgpu itself\n\nThe view `self`. [operations.md](operations.md) says what to do "
      "when one of them moves.\n\n%s%s",
      kHead, SlotRows(SlotView::kCore), kHead, SlotRows(SlotView::kSelf));
}

bool IsAlwaysShown(std::string_view family) {
  const std::vector<SlotFamilyDoc> docs = SlotFamilyDocs();
  const auto found = std::ranges::find(docs, family, &SlotFamilyDoc::name);
  return found->shown == Shown::kAlways && family != "podgpu_source_call_seconds";
}

// The families that are always present.
size_t SlotSeriesOf(SlotView view) {
  size_t count = 0;
  const Topology none;
  for (const SlotFamily& family : SlotFamiliesOf(view, &none, 0)) {
    count += IsAlwaysShown(family.family.name) ? family.series.size() : 0;
  }
  return count;
}

std::string FormulaSection() {
  const SeriesCounts native = CountMeasures();
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
      "two "
      "for each XID\n  code that a GPU has reported, and one for each of its containers then, 256 "
      "at "
      "most.\n"
      "- Native: core, and %d x W + %d x P + %d x I; at most %d more for each GPU, as its throttle "
      "reasons and\n  recovery actions hold for the first time.\n"
      "- Processes: 7 for each GPU, 10 for each pod on a GPU, and 11 for each row of a process on "
      "a "
      "GPU.\n"
      "- Requested and used, on a page of its own: 4 for each container, and 2 more for each of "
      "its "
      "cards.\n"
      "- Self: %d, one for the state of the source, and one for each kind of call, reason and "
      "result that has been; two\n  of the %d only with a directory of batch jobs, one with TLS, "
      "two with dumps, eight with pods or ResourceSlices from\n  the API server, two with "
      "`--kubelet-pods-url`.\n\n"
      "A value that is not there is a series less: the driver's support decides, and "
      "`podgpu_absent_samples` counts.\n",
      SlotSeriesOf(SlotView::kCore), native.whole_gpu, native.partitioned_gpu, native.instance,
      native.once_held, SlotSeriesOf(SlotView::kSelf), SlotSeriesOf(SlotView::kSelf));
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
      "and "
      "newer. If the same code occurs\nagain on one GPU, more is needed. "
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
         NativeSection() + "\n" + ProcessSection() + "\n" + VcudaSection() + "\n" + SlotSection() +
         "\n" + DcgmSection() + "\n" + SourceSection() + "\n" + XidSection() + "\n" +
         FormulaSection();
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
