// A forecast of /metrics of this node: series by family and by GPU, and bytes; for --validate.
//
// The page is made as podgpu makes it: the devices of the source, one reading, the kubelet's
// answer, one Tick.  No port is opened.  Profiling stays off, because a second program that
// profiles would take the counters from a podgpu that runs; its values, and those that have no
// sample yet, count as present, so the forecast is an upper limit.  Values that the node cannot
// give are left out.  Without devices the forecast is for kAssumedGpus GPUs that give every field,
// and says so. Calls that hang are abandoned as in selection_check.h.  Called by main alone.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/foreign_calls.h"
#include "exporter/exporter.h"

namespace podgpu {

inline constexpr size_t kAssumedGpus = 8;

struct SeriesCount {
  std::string name;
  size_t series = 0;
};

struct PageForecast {
  std::string devices;                 // "2 GPUs, 0 MIG instances".
  std::string why_assumed;             // Empty: these are the devices of this node.
  std::string why_no_pods;             // Why the kubelet's pods are not counted; empty: they are.
  bool leaves_out_containers = false;  // Those of a runtime outside Kubernetes are not counted.
  std::vector<std::string> warnings;   // About metrics that this node can never give.
  size_t series = 0;
  size_t bytes = 0;
  size_t compressed_bytes = 0;
  // Sorted in the order of the page.  The name of a GPU is its label `gpu`; "" stands for series
  // without that label.
  std::vector<SeriesCount> by_gpu;
  std::vector<SeriesCount> by_family;
  size_t budget = 0;                  // 0: none.
  std::vector<std::string> left_out;  // Families that the budget leaves out.
};

// Everything that `seams.open_source` uses lives as long as the process.
PageForecast ForecastPage(const ExporterOptions& options, const ExporterSeams& seams,
                          std::chrono::milliseconds patience);

// The lines that --validate prints: totals, GPUs, families, and a warning above the budget.
std::string ForecastText(const PageForecast& forecast);

// Counts the series of a page in text form into `forecast`.  Pure.
void CountSeries(std::string_view page, PageForecast& forecast);

}  // namespace podgpu
