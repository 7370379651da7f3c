// The views: each writes the content of a snapshot in the names and labels of one system that
// podgpu replaces, or in its own.
//
// A view adds families, names, labels and units to a PlanBuilder, once per epoch.  It collects
// nothing and keeps nothing: its input is the topology, the owners, the layout of the grid and the
// user's counters. exporter/routes.cc decides which path serves which views.  Pure functions;
// called on the tick thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "attribution/owner.h"
#include "exposition/series_plan.h"
#include "fields/counters_csv.h"
#include "sample/grid.h"
#include "topology/selection.h"
#include "topology/topology.h"
#include "view/dcgm_exporter_version.h"
#include "view/family_doc.h"

namespace podgpu {

class HeldMeasures;

// The views that can stand on a page, in the order in which they are written.
enum class View : uint8_t { kDcgm, kCore, kNative, kProcess, kSelf };
// Their names, in the same order.
inline constexpr std::array<std::string_view, 5> kViewNames = {"dcgm", "core", "native", "process",
                                                               "self"};

struct ViewOptions {
  std::string hostname;  // Empty: no hostname label.
  // The release of dcgm-exporter that the DCGM view is like; points to a static row.
  const DcgmExporterVersion* version = DcgmExporterVersions().data();
  std::string hostname_label = "Hostname";  // As `version` says, or a flag of its own.
  bool use_old_namespace = false;  // True: labels uuid, pod_name, pod_namespace, container_name.
  bool replace_blanks_in_model_name = false;
  bool kubernetes = false;      // -k: DCGM rows have their owner, if there is exactly one.
  bool pod_uid = false;         // With -k: also the owner's uid, empty while it is not known.
  bool virtual_gpus = false;    // With -k: a copy of each row for each of several owners.
  DeviceSelections selections;  // -d, -s, -p: the rows of the DCGM view.
};

// Key of the slot with the use of one device by the processes of one pod: percent of its time for
// field 203, MiB of its memory for 252.
struct PodSlotKey {
  uint16_t field_id = 0;
  uint16_t device = 0;  // Column of the GPU or instance.
  std::string pod_namespace;
  std::string pod;
  auto operator<=>(const PodSlotKey&) const = default;
};
using PodSlots = std::map<PodSlotKey, uint32_t>;

// The input of every view.  Borrowed for the call.
struct ViewInput {
  const Grid& grid;  // Layout, topology, and the values of label fields.
  const Owners& owners;
  const std::vector<Counter>& counters;
  const ViewOptions& options;
  const PodSlots* pod_slots = nullptr;  // Null if processes are not read.
  uint32_t first_finding_slot = 0;      // First slot of this view's findings (finding_slots.h).
  const HeldMeasures* held = nullptr;   // Null: none has been active yet.
};

// A family whose numbers the tick computes itself: slot values with rendered labels.
struct SlotSeries {
  std::vector<Label> labels;
  uint32_t slot = 0;
};
struct SlotFamily {
  Family family;
  std::vector<SlotSeries> series = {};
};

// Adds dcgm-exporter's rows: GPUs and MIG instances, then switches, links, CPUs, cores.  The plan
// counts the numbers of single pods that have no line because `pod_slots` does not have them.
void AddDcgmView(const ViewInput& input, PlanBuilder& plan);

// Adds the view core: which devices there are, which containers hold them, and which XIDs they had.
// It is also the beginning of the view native.
void AddCoreView(const ViewInput& input, PlanBuilder& plan);

// Adds the rest of the view native: families in base units with identity labels only.  They have
// the same values as families with DCGM's names.
void AddMeasures(const ViewInput& input, PlanBuilder& plan);

// Adds the page of pod-gpu-metrics-exporter: 39 families of dcgm-exporter 1.x for whole GPUs, with
// the labels gpu and uuid.  With `with_pods`, a device of exactly one container also has the labels
// of its pod.
void AddLegacyView(const ViewInput& input, bool with_pods, PlanBuilder& plan);

// Returns the field ids of the legacy view, ascending; the five of profiling only if `profiling`.
std::vector<uint16_t> LegacyFieldIds(bool profiling);

// Adds families of slot values: self metrics and device states.
void AddSlotFamilies(const std::vector<SlotFamily>& families, PlanBuilder& plan);
// Returns how many slots they have.
uint32_t CountSlots(const std::vector<SlotFamily>& families);

// Returns the field ids that the views core and native read, ascending.  The exporter watches them
// in addition to the user's counters.
std::vector<uint16_t> CoreFieldIds();
std::vector<uint16_t> NativeFieldIds();

// The families of AddCoreView and AddMeasures.
std::vector<FamilyDoc> CoreFamilies();
std::vector<FamilyDoc> MeasureFamilies();

}  // namespace podgpu
