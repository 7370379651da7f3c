// When the main thread looks whether the counters, or the configuration, have changed.
//
// A notice of the kernel (base/file_notice.h) makes it look after one second, when an edit has
// normally ended, and once more a second later, since CountersFile believes what two looks in a row
// have seen.  What has no notice is found by a look each minute, or every 10 s when the folder of a
// file is not watched.  With a ConfigMap, whose changes the API server tells, it looks once per
// interval.  One thread.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "base/file_notice.h"
#include "exporter/counters_source.h"

namespace podgpu {

class CountersLooks {
 public:
  // `config_file`: the path of the configuration; empty: there is none.
  CountersLooks(const CountersSourceOptions& options, const std::string& config_file,
                std::chrono::milliseconds interval);

  // Waits until `other` is readable, a notice has come, or a look is due by time.  Returns whether
  // to look now.
  bool Await(int other);

  // The parts of Await: whether it waits for notices (while looks are due they wait, since one edit
  // makes several), for how long it waits, and what it makes of the end of a wait.
  bool listens() const { return due_ == 0 && counters_.descriptor() >= 0; }
  std::chrono::seconds pause() const;
  bool Take();

 private:
  FileNotice counters_;
  std::optional<FileNotice> config_;  // Nothing where the configuration is none, or has the list.
  const std::chrono::seconds interval_;
  const bool has_config_map_;
  int due_ = 0;  // Looks that the last notice has made due.
};

}  // namespace podgpu
