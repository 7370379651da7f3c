// Counts of a run of the fault matrix, for its last line of output.
//
// The rows count, on the test program's one thread; its main prints.
#pragma once

#include <cstddef>
#include <set>
#include <string>

namespace podgpu {

struct Totals {
  size_t rows = 0;
  size_t cases = 0;
  size_t kubelet_cases = 0;
  size_t failed = 0;
  std::set<std::string> symbols;
};

inline Totals& Sum() {
  static Totals totals;
  return totals;
}

}  // namespace podgpu
