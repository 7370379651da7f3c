// What a run of the fault matrix has covered, for its closing line.
//
// Counted by the rows, on the one thread of the test program; printed by its main.
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
