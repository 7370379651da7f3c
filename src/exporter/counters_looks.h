// When the main thread looks whether the counters have changed.
//
// A notice of the kernel (base/file_notice.h) makes it look after one second, when an edit has
// normally ended, and once more a second later, since CountersFile believes what two looks in a row
// have seen.  What has no notice is found by a look each minute, or every 10 s when the file's
// folder is not watched.  With a ConfigMap, whose changes the API server tells, it looks once per
// interval.  One thread.
#pragma once

#include <chrono>

#include "base/file_notice.h"
#include "exporter/counters_source.h"

namespace podgpu {

class CountersLooks {
 public:
  CountersLooks(const CountersSourceOptions& options, std::chrono::milliseconds interval);

  // Waits until `other` is readable, a notice has come, or a look is due by time.  Returns whether
  // to look now.
  bool Await(int other);

  // The parts of Await: which notices it waits for (-1: none; while looks are due notices wait,
  // since one edit makes several), for how long, and what it makes of the end of a wait.
  int descriptor() const { return due_ > 0 ? -1 : notice_.descriptor(); }
  std::chrono::seconds pause() const;
  bool Take();

 private:
  FileNotice notice_;
  const std::chrono::seconds interval_;
  const bool has_config_map_;
  int due_ = 0;  // Looks that the last notice has made due.
};

}  // namespace podgpu
