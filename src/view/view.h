// The ways of saying what a snapshot holds: one function per system that podgpu takes the place of.
//
// A view writes families, names, label schemes and units into a PlanBuilder, once per epoch.  It
// collects nothing and keeps nothing: its input is the topology, the owners, the layout of the grid
// and the user's counters.  Which views stand on which path is exporter/routes.cc.  Pure functions;
// the tick thread calls them.
#pragma once

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

namespace podgpu {

class HeldMeasures;

struct ViewOptions {
  std::string hostname;                     // Empty: no hostname label.
  std::string hostname_label = "Hostname";  // Or "hostname" (main branch since 2026-05-12).
  bool use_old_namespace = false;           // uuid, pod_name, pod_namespace, container_name.
  bool replace_blanks_in_model_name = false;
  bool kubernetes = false;      // -k: DCGM rows carry their single owner.
  bool pod_uid = false;         // Likewise its uid, empty while it is not known.
  bool virtual_gpus = false;    // With it: a copy of each row for each of several owners.
  DeviceSelections selections;  // -d, -s, -p: the rows of the DCGM view.
};

// Which slot holds what the processes of one pod use of one device: percent of its time for field
// 203, MiB of its memory for 252.
struct PodSlotKey {
  uint16_t field_id = 0;
  uint16_t device = 0;  // Column of the GPU or instance.
  std::string pod_namespace;
  std::string pod;
  auto operator<=>(const PodSlotKey&) const = default;
};
using PodSlots = std::map<PodSlotKey, uint32_t>;

// What every view may look at.  All borrowed for the call.
struct ViewInput {
  const Grid& grid;  // Layout, topology, and the values of label fields.
  const Owners& owners;
  const std::vector<Counter>& counters;
  const ViewOptions& options;
  const PodSlots* pod_slots = nullptr;  // Null where processes are not looked at.
  uint32_t first_finding_slot = 0;      // Of this view's findings (finding_slots.h).
  const HeldMeasures* held = nullptr;   // Null: none has held yet.
};

// A family whose numbers the tick computes itself: slot values, with ready labels.
struct SlotSeries {
  std::vector<Label> labels;
  uint32_t slot = 0;
};
struct SlotFamily {
  Family family;
  std::vector<SlotSeries> series;
};

// dcgm-exporter's rows (behaviour document, section 6): GPUs and MIG instances, then switches,
// links, CPUs, cores.  Returns how many numbers of single pods it leaves out, since `pod_slots` has
// none for them.
size_t AddDcgmView(const ViewInput& input, PlanBuilder& plan);

// What everybody needs to know of devices besides DCGM's numbers: which there are, who holds them,
// which XIDs they had.  The view core, and the beginning of the view native.
void AddCoreView(const ViewInput& input, PlanBuilder& plan);

// The rest of the view native: clean families over the values that DCGM's names have too
// (experience 6.1), identity only, base units.
void AddMeasures(const ViewInput& input, PlanBuilder& plan);

// The per-pod page of pod-gpu-metrics-exporter (seed systems, section 1): 39 names of the 1.x
// exporter on whole GPUs, with the labels gpu and uuid, and with the pod's where one container has
// the device and `with_pods` asks for it.
void AddLegacyView(const ViewInput& input, bool with_pods, PlanBuilder& plan);

// The field ids that the legacy view shows, ascending; the five of profiling only if `profiling`.
std::vector<uint16_t> LegacyFieldIds(bool profiling);

// Families of slot values: self metrics and device states.
void AddSlotFamilies(const std::vector<SlotFamily>& families, PlanBuilder& plan);
// How many slots they have.
uint32_t CountSlots(const std::vector<SlotFamily>& families);

// The field ids that the views core and native read, ascending.  The exporter watches them besides
// the user's counters.
std::vector<uint16_t> CoreFieldIds();
std::vector<uint16_t> NativeFieldIds();

// Name, type, unit and help of every family of AddCoreView and AddMeasures, for docs/metrics.md.
std::vector<Family> CoreFamilies();
std::vector<Family> MeasureFamilies();

}  // namespace podgpu
