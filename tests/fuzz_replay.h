// The fuzz targets of a build without libFuzzer, for the program that replays their corpora: a
// table that cmake/Room.cmake generates, with a row for each file *_fuzz.cc.  Constant; one thread.
#pragma once

#include <cstddef>
#include <cstdint>

// A target: its name, which is also the name of its corpus, and its entry, which aborts when an
// invariant of the target fails.
struct FuzzTarget {
  const char* name;
  int (*run)(const uint8_t* data, size_t size);
};

extern const FuzzTarget kFuzzTargets[];
extern const size_t kFuzzTargetCount;
