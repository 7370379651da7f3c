// A fake sysfs with a PCI bus of three GPUs, for tests of devices that the kernel suspends.  The
// test changes `asleep` while no other thread reads.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"

namespace podgpu {

// The devices are 0000:00:00.0, 0000:01:00.0 and 0000:02:00.0; those in `asleep` are suspended.
class FakePciBus final : public Files {
 public:
  StatusOr<std::string> Read(std::string_view path) const override {
    const std::string_view file = path.substr(path.rfind('/') + 1);
    const std::string address(path.substr(std::string_view("/bus/pci/devices/").size(), 12));
    const std::map<std::string_view, std::string> contents = {
        {"vendor", "0x10de\n"},
        {"class", "0x030200\n"},
        {"control", "auto\n"},
        {"runtime_status", asleep.contains(address) ? "suspended\n" : "active\n"}};
    const auto found = contents.find(file);
    return found == contents.end() ? StatusOr<std::string>(absl::NotFoundError(std::string(path)))
                                   : found->second;
  }
  StatusOr<std::vector<std::string>> List(std::string_view /*path*/) const override {
    return std::vector<std::string>{"0000:00:00.0", "0000:01:00.0", "0000:02:00.0"};
  }
  StatusOr<std::string> ReadLink(std::string_view path) const override {
    return absl::NotFoundError(std::string(path));
  }

  std::set<std::string> asleep;
};

}  // namespace podgpu
