// Whether a page adds up to the millijoule: what is shared out, and what the GPU's counter says.
//
// Reads pages with the strict parser, one after another as a scraper would, and knows nothing of
// how podgpu keeps its accounts.  On any page, of each GPU: the counter less the sum over methods
// is the same as on the page before, unless the counter has begun again; the rows of processes,
// those without a pid among them, are the methods, each method by itself; every line of the counter
// says the same; and of pods, the rows of processes add up to the pod's own rows.  From page to
// page no pod's sum falls while it has rows.  One thread.
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

// "12.345" as 12345; nothing for what is no whole number of millijoules.
std::optional<int64_t> MillijoulesOf(std::string_view joules);

class EnergyChecker {
 public:
  // What is wrong with the page, a line each; empty: nothing.
  std::vector<std::string> Check(std::string_view page);

  // GPUs on pages whose counter was held against what is shared out, and how often a counter began
  // again, so that a test can say that it has looked at something.
  size_t compared() const { return compared_; }
  size_t restarts() const { return restarts_; }
  // How many rows stood for processes that have gone, over all pages.
  size_t ended_rows() const { return ended_rows_; }

 private:
  // What a page says of a GPU.
  struct Gpu {
    std::optional<int64_t> counter_mj;
    std::map<std::string, int64_t> by_method;
    std::map<std::string, int64_t> of_processes;  // By method.
  };
  struct Before {
    int64_t counter_mj = 0;
    int64_t rest_mj = 0;  // Of the counter, what is not in the methods.
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
  std::map<std::string, int64_t> pod_before_;  // Of the last page.
  std::vector<std::string> complaints_;
  size_t compared_ = 0, restarts_ = 0, ended_rows_ = 0;
};

}  // namespace podgpu
