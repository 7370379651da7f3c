// Prints the built-in counters file, for ./dev install: a template for own lists.
#include <cstdio>
#include <string>

#include "fields/counters_csv.h"

int main() {
  const std::string text(podgpu::DefaultCountersCsv());
  return std::fputs(text.c_str(), stdout) < 0 ? 1 : 0;
}
