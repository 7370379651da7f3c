// One file for a support case: configuration without secrets, versions, checks, the states of the
// running exporter, and its metrics about itself over a minute.
//
// User names and passwords in addresses are left out.  Names of pods and namespaces become "pod-1"
// and "namespace-1" unless the command asks for them.  Called on the main thread; waits while it
// collects the metrics.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "cli/doctor_flags.h"
#include "doctor/finding.h"
#include "doctor/session.h"

namespace podgpu {

// Writes the file and returns its path; kPermissionDenied when it cannot be written.
StatusOr<std::string> WriteSupportReport(const DoctorCommand& command, Session& session,
                                         const DoctorResult& result);

// Replaces whole names of pods and namespaces in `text`.
class NameVeil {
 public:
  void AddPod(const std::string& pod);
  void AddNamespace(const std::string& name_space);
  std::string Over(std::string_view text) const;

 private:
  std::map<std::string, std::string> names_;  // Substitutes by name.
  size_t pods_ = 0, namespaces_ = 0;
};

// Returns `value` without user and password of an address.
std::string WithoutPassword(std::string_view value);

// Returns the lines of `page` about the exporter itself: process_* and podgpu_* without labels of
// pods.
std::string SelfMetricsIn(std::string_view page);

}  // namespace podgpu
