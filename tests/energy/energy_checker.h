// Checks that a page adds up to the millijoule: the shares of processes and the GPU's counter.
//
// Reads pages with the strict parser, one after another as a scraper would, and shares no code with
// podgpu's accounts.  Rules for each GPU: the counter minus the sum over methods is the same as on
// the previous page, unless the counter has restarted; the rows of processes, including those
// without a pid, add up to each method; every line of the counter has the same value; and the rows
// of a pod's processes add up to the pod's own rows.  From page to page no pod's sum falls while it
// has rows.  One thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "tests/strict_parser.h"

namespace podgpu {

// "12.345" as 12345; empty when it is not a whole number of millijoules.
std::optional<int64_t> MillijoulesOf(std::string_view joules);

class EnergyChecker {
 public:
  // The errors of the page, one line each; empty when there are none.
  std::vector<std::string> Check(std::string_view page);

  // How many GPUs on how many pages were compared with their counter, and how often a counter
  // restarted, so a test can require a minimum.
  size_t compared() const { return compared_; }
  size_t restarts() const { return restarts_; }
  // The number of rows of ended processes, over all pages.
  size_t ended_rows() const { return ended_rows_; }

 private:
  // The energy of a GPU on one page.
  struct Gpu {
    std::optional<int64_t> counter_mj;
    std::map<std::string, int64_t> by_method;
    std::map<std::string, int64_t> of_processes;  // By method.
  };
  struct Before {
    int64_t counter_mj = 0;
    int64_t rest_mj = 0;  // The counter minus the methods.
  };
  struct Totals {
    std::map<std::string, Gpu> gpus;                   // By UUID.
    std::map<std::string, int64_t> pods_by_processes;  // By UID and UUID.
    std::map<std::string, int64_t> pods;
  };

  void Add(const ParsedFamily& family, Totals& totals);
  void AddCounter(const ParsedSample& sample, std::optional<int64_t> counter_mj, Totals& totals);
  void CheckGpu(const std::string& uuid, const Gpu& gpu);
  void CheckPods(const Totals& totals);
  void Complain(std::string words) { complaints_.push_back(std::move(words)); }

  std::map<std::string, Before> before_;       // By UUID.
  std::map<std::string, int64_t> pod_before_;  // On the previous page.
  std::vector<std::string> complaints_;
  size_t compared_ = 0, restarts_ = 0, ended_rows_ = 0;
};

}  // namespace podgpu
