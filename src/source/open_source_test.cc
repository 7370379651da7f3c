#include "source/open_source.h"

#include <algorithm>
#include <string>

#include "gtest/gtest.h"

#include "abi/load.h"
#include "base/testing/manual_clock.h"

namespace podgpu {
namespace {

// A libdcgm.so.4 with all its symbols, none of which may be called.
class InertLoader final : public LibraryLoader {
 public:
  StatusOr<void*> Open(const std::string& name) override {
    if (name == "libdcgm.so.4") {
      return this;
    }
    return absl::NotFoundError(name +
                               ": cannot open shared object file: No such file or directory");
  }
  void* Symbol(void* library, const char*) override { return library; }
};

TEST(OpenDcgmSource, DoesNotConnectYet) {
  InertLoader loader;
  ManualClock clock;
  SourceOptions options;
  options.address = "nvidia-dcgm:5555";
  const StatusOr<std::unique_ptr<Source>> source = OpenDcgmSource(options, loader, clock);
  ASSERT_TRUE(source.ok()) << source.status();
  EXPECT_EQ((*source)->Describe(), "dcgm (libdcgm.so.4), remote engine nvidia-dcgm:5555");
}

// Returns the log of opening the source of `address`.
std::string LogOf(const std::string& address) {
  InertLoader loader;
  ManualClock clock;
  SourceOptions options;
  options.address = address;
  testing::internal::CaptureStderr();
  EXPECT_TRUE(OpenDcgmSource(options, loader, clock).ok()) << address;
  return testing::internal::GetCapturedStderr();
}

TEST(OpenDcgmSource, AdvisesAUnixSocketForALocalEngineOverTcp) {
  for (const char* address : {"localhost", "localhost:5555", "tcp://localhost:5555", "127.0.0.1",
                              "127.0.0.1:5555", "127.1.2.3:5555", "[::1]:5555", "[::1]"}) {
    const std::string log = LogOf(address);
    EXPECT_NE(log.find("level=INFO"), std::string::npos) << address;
    EXPECT_NE(log.find("give -r unix://PATH"), std::string::npos) << address;
    EXPECT_EQ(std::ranges::count(log, '\n'), 1) << log;
  }
  for (const char* address : {"nvidia-dcgm:5555", "10.0.0.1:5555", "localhost.example:5555",
                              "[::10]:5555", "unix:///run/dcgm.sock", "/run/dcgm.sock"}) {
    EXPECT_EQ(LogOf(address), "") << address;
  }
}

TEST(OpenDcgmSource, IsEmbeddedWithoutAnAddress) {
  InertLoader loader;
  ManualClock clock;
  const StatusOr<std::unique_ptr<Source>> source = OpenDcgmSource({}, loader, clock);
  ASSERT_TRUE(source.ok()) << source.status();
  EXPECT_EQ((*source)->Describe(), "dcgm (libdcgm.so.4), embedded engine");
}

TEST(OpenDcgmSource, RefusesABadAddressBeforeItSearchesForLibraries) {
  InertLoader loader;
  ManualClock clock;
  SourceOptions options;
  options.address = "host:99999";
  options.dcgm_library = "/nowhere";
  EXPECT_EQ(OpenDcgmSource(options, loader, clock).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(MayStandIn, OnlyForAnEngineWhoseRowsAreOfThisNode) {
  SourceOptions options;
  EXPECT_FALSE(MayStandIn(options)) << "no engine";
  options.address = "nvidia-dcgm:5555";
  EXPECT_TRUE(MayStandIn(options));
  options.rows_are_of_this_node = false;
  EXPECT_FALSE(MayStandIn(options));
  options.rows_are_of_this_node = true;
  options.kind = SourceKind::kDcgm;
  EXPECT_FALSE(MayStandIn(options));
}

TEST(OpenDcgmSource, ReportsAMissingLibrary) {
  InertLoader loader;
  ManualClock clock;
  SourceOptions options;
  options.dcgm_library = "/nowhere";
  EXPECT_EQ(OpenDcgmSource(options, loader, clock).status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace podgpu
