#include "attribution/device_id.h"

#include <string>

#include <gtest/gtest.h>

namespace podgpu {
namespace {

using enum DeviceIdForm;

constexpr std::string_view kGpu = "GPU-2f1c9a04-7d1b-4b6a-9d6e-0a1b2c3d4e5f";
constexpr std::string_view kMig = "MIG-8f0e4c8a-1f6c-5a0e-9b8d-3c4d5e6f7a8b";

// Spells the result out, which makes a failed row readable.
std::string Describe(const DeviceId& id) {
  static constexpr std::string_view kNames[] = {"unknown", "gpu",   "mig",  "parts",
                                                "minor",   "index", "every"};
  std::string text(kNames[static_cast<size_t>(id.form)]);
  if (!id.uuid.empty()) {
    text += " " + std::string(id.uuid);
  }
  if (id.form == kMinor || id.form == kIndex) {
    text += " " + std::to_string(id.number);
  }
  if (id.gpu_instance) {
    text += " gi" + std::to_string(*id.gpu_instance);
  }
  if (id.compute_instance) {
    text += " ci" + std::to_string(*id.compute_instance);
  }
  return id.replica.empty() ? text : text + " #" + std::string(id.replica);
}

std::string Text(std::string_view a, std::string_view b, std::string_view c = {}) {
  return std::string(a) + std::string(b) + std::string(c);
}

TEST(ParseDeviceId, ParsesTheIdsOfEveryPlugin) {
  struct Row {
    std::string text;
    std::string expected;
  };
  const std::string gpu(kGpu);
  const std::string mig(kMig);
  const Row rows[] = {
      // NVIDIA's device plugin.
      {gpu, "gpu " + gpu},
      {gpu + "::0", "gpu " + gpu + " #0"},
      {gpu + "::17", "gpu " + gpu + " #17"},
      {gpu + "::", "gpu " + gpu},
      {gpu + "::3::4", "gpu " + gpu + " #3"},
      {mig, "mig " + mig},
      {mig + "::7", "mig " + mig + " #7"},
      {"MIG-" + gpu + "/7/0", "parts " + gpu + " gi7 ci0"},
      {"MIG-" + gpu + "/7/0::2", "parts " + gpu + " gi7 ci0 #2"},
      {"MIG-" + gpu, "gpu " + gpu},
      {"all", "every"},
      {"all::1", "every #1"},
      {"tegra", "every"},
      // GKE's.
      {"nvidia0", "minor 0"},
      {"nvidia12", "minor 12"},
      {"nvidia0/gi3", "minor 0 gi3"},
      {"nvidia0/vgpu0", "minor 0 #0"},
      {"nvidia1/gi0/vgpu47", "minor 1 gi0 #47"},
      {"nvidia0/vgpu", "minor 0"},
      // dcgm-exporter's tests.
      {"0/vgpu", "index 0"},
      {"3", "index 3"},
      {"2f1c9a04-7d1b-4b6a-9d6e-0a1b2c3d4e5f", "gpu 2f1c9a04-7d1b-4b6a-9d6e-0a1b2c3d4e5f"},
      {"2f1c9a04-7d1b-4b6a-9d6e-0a1b2c3d4e5f::", "gpu 2f1c9a04-7d1b-4b6a-9d6e-0a1b2c3d4e5f"},
      {"GPU-x", "gpu GPU-x"},
      {"MIG-x::7", "mig MIG-x #7"},
      // No known form.
      {"", "unknown"},
      {"X::", "unknown"},
      {"X::3", "unknown"},
      {"::", "unknown"},
      {"vendor-7", "unknown"},
      {"-1", "unknown"},
      {"99999999999999999999999", "unknown"},
      {"nvidia", "unknown"},
      {"nvidiactl", "unknown"},
      {"nvidia0/", "unknown"},
      {"nvidia0/3", "unknown"},
      {"nvidia0/gi", "unknown"},
      {"nvidia0/gix", "unknown"},
      {"nvidia0/gi0/ci0", "unknown"},
      {"/dev/nvidia0", "unknown"},
      {"MIG-" + gpu + "/7", "unknown"},
      {"MIG-" + gpu + "/7/0/1", "unknown"},
      {"MIG-" + gpu + "/x/0", "unknown"},
      {"MIG-" + gpu + "/7/y", "unknown"},
      {"2f1c9a04-7d1b-4b6a-9d6e-0a1b2c3d4e5", "unknown"},
      {"2f1c9a04-7d1b-4b6a-9d6e0a1b2c3d4e5f", "unknown"},
      {"2f1c9a04-7d1b-4b6a-9d6e-0a1b2c3d4e5g", "unknown"},
      {"tencent.com/vcuda-core-5", "unknown"},
      {"allx", "unknown"},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(Describe(ParseDeviceId(row.text)), row.expected) << row.text;
  }
}

TEST(ParseNumberedShare, SplitsOffTheNumberOfAShare) {
  struct Row {
    std::string text;
    std::string expected;
  };
  const std::string gpu(kGpu);
  const std::string mig(kMig);
  const Row rows[] = {
      {gpu + "-0", "gpu " + gpu + " #0"},      // HAMi, AWS
      {gpu + "-_-15", "gpu " + gpu + " #15"},  // gpushare
      {gpu.substr(4) + "-9", "gpu " + gpu.substr(4) + " #9"},
      {mig + "-1", "mig " + mig + " #1"},
  };
  for (const Row& row : rows) {
    const std::optional<DeviceId> share = ParseNumberedShare(row.text);
    ASSERT_TRUE(share.has_value()) << row.text;
    EXPECT_EQ(Describe(*share), row.expected);
  }
  for (const std::string& text :
       {gpu, Text(kGpu, "-"), Text(kGpu, "-_-"), Text(kGpu, "-x"), std::string("nvidia-3"),
        std::string("vendor-7"), std::string("tencent.com/vcuda-core-5"), std::string("7"),
        std::string()}) {
    EXPECT_FALSE(ParseNumberedShare(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace podgpu
