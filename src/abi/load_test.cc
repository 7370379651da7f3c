#include "abi/load.h"

#include <map>
#include <set>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace podgpu::abi {
namespace {

using Symbols = std::set<std::string>;

// A loader with the libraries that a test adds; records the opened names.
class FakeLoader final : public LibraryLoader {
 public:
  // `name` opens and has `symbols`.
  void Add(const std::string& name, Symbols symbols) { libraries_[name] = std::move(symbols); }
  // `name` exists, but the linker refuses it with `reason`.
  void Break(const std::string& name, const std::string& reason) { broken_[name] = reason; }

  StatusOr<void*> Open(const std::string& name) override {
    opened.push_back(name);
    if (const auto found = libraries_.find(name); found != libraries_.end()) {
      return &found->second;
    }
    if (const auto found = broken_.find(name); found != broken_.end()) {
      return absl::NotFoundError(found->second);
    }
    return absl::NotFoundError(name +
                               ": cannot open shared object file: No such file or directory");
  }
  void* Symbol(void* library, const char* symbol) override {
    auto& symbols = *static_cast<Symbols*>(library);
    const auto found = symbols.find(symbol);
    return found == symbols.end() ? nullptr : const_cast<std::string*>(&*found);
  }

  std::vector<std::string> opened;

 private:
  std::map<std::string, Symbols> libraries_;
  std::map<std::string, std::string> broken_;
};

Symbols AllOfDcgm() {
#define X(result, symbol, capability, parameters) #symbol,
  return {PODGPU_DCGM_API(X)};
#undef X
}

Symbols AllOfNvml() {
#define X(result, symbol, capability, parameters) #symbol,
  return {PODGPU_NVML_API(X)};
#undef X
}

Symbols Without(Symbols symbols, const std::vector<std::string>& gone) {
  for (const std::string& symbol : gone) {
    EXPECT_EQ(symbols.erase(symbol), 1U) << symbol;
  }
  return symbols;
}

Symbols With(Symbols symbols, const std::string& more) {
  symbols.insert(more);
  return symbols;
}

std::string Text(const absl::Status& status) { return std::string(status.message()); }

TEST(LoadDcgm, PrefersTheNewestSoname) {
  FakeLoader loader;
  loader.Add("libdcgm.so.4", AllOfDcgm());
  loader.Add("libdcgm.so.3", AllOfDcgm());
  const StatusOr<DcgmLibrary> library = LoadDcgm(loader, "");
  ASSERT_TRUE(library.ok()) << library.status();
  EXPECT_EQ(library->name, "libdcgm.so.4");
  EXPECT_EQ(library->generation, DcgmGeneration::k4);
  EXPECT_TRUE(library->off.empty());
  EXPECT_EQ(loader.opened, std::vector<std::string>{"libdcgm.so.4"});
}

TEST(LoadDcgm, SearchesANewSonameEverywhereBeforeAnOldOne) {
  FakeLoader loader;
  const std::string last = std::string(LibraryDirectories().back()) + "/libdcgm.so.4";
  loader.Add(last, AllOfDcgm());
  loader.Add("libdcgm.so.3", AllOfDcgm());
  const StatusOr<DcgmLibrary> library = LoadDcgm(loader, "");
  ASSERT_TRUE(library.ok()) << library.status();
  EXPECT_EQ(library->name, last);
}

TEST(LoadDcgm, OpensOnlyTheGivenPath) {
  FakeLoader loader;
  loader.Add("libdcgm.so.4", AllOfDcgm());
  loader.Add("/opt/dcgm/lib.so", AllOfDcgm());
  const StatusOr<DcgmLibrary> library = LoadDcgm(loader, "/opt/dcgm/lib.so");
  ASSERT_TRUE(library.ok()) << library.status();
  EXPECT_EQ(library->name, "/opt/dcgm/lib.so");
  EXPECT_EQ(loader.opened, std::vector<std::string>{"/opt/dcgm/lib.so"});
}

TEST(LoadDcgm, DetectsTheGenerationBySymbolsThenByName) {
  struct Row {
    const char* label;
    std::string name;
    std::string probe;
    DcgmGeneration expected;
  };
  const Row rows[] = {
      {"soname 4 alone", "libdcgm.so.4", "", DcgmGeneration::k4},
      {"soname 3 alone", "libdcgm.so.3", "", DcgmGeneration::k3},
      {"3.x under a neutral name", "/opt/lib.so", "dcgmPolicyRegister", DcgmGeneration::k3},
      {"4.x under a neutral name", "/opt/lib.so", "dcgmPolicyRegister_v2", DcgmGeneration::k4},
      {"4.x behind a link named 3", "/opt/libdcgm.so.3", "dcgmPolicyRegister_v2",
       DcgmGeneration::k4},
  };
  for (const Row& row : rows) {
    FakeLoader loader;
    loader.Add(row.name, row.probe.empty() ? AllOfDcgm() : With(AllOfDcgm(), row.probe));
    const StatusOr<DcgmLibrary> library =
        LoadDcgm(loader, row.name.starts_with("/") ? row.name : std::string());
    ASSERT_TRUE(library.ok()) << row.label << ": " << library.status();
    EXPECT_EQ(library->generation, row.expected) << row.label;
  }
}

TEST(LoadDcgm, NamesAllMissingCoreSymbolsInOneError) {
  FakeLoader loader;
  loader.Add("libdcgm.so.4", Without(AllOfDcgm(), {"dcgmInit", "dcgmWatchFields"}));
  const StatusOr<DcgmLibrary> library = LoadDcgm(loader, "");
  EXPECT_EQ(library.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(Text(library.status()),
            "libdcgm.so.4 lacks dcgmInit, dcgmWatchFields: it is too old or another library. "
            "Install DCGM 3.0 or newer");
}

TEST(LoadDcgm, SwitchesACapabilityOffAsAWhole) {
  FakeLoader loader;
  loader.Add("libdcgm.so.4", Without(AllOfDcgm(), {"dcgmHostengineVersionInfo"}));
  const StatusOr<DcgmLibrary> library = LoadDcgm(loader, "");
  ASSERT_TRUE(library.ok()) << library.status();
  EXPECT_FALSE(library->Has(DcgmCapability::kVersion));
  EXPECT_TRUE(library->Has(DcgmCapability::kMig));
  EXPECT_EQ(library->api.dcgmVersionInfo, nullptr);
  EXPECT_NE(library->api.dcgmGetGpuInstanceHierarchy, nullptr);
  EXPECT_EQ(library->off, std::vector<std::string>{"versions in messages: off, libdcgm.so.4 lacks "
                                                   "dcgmHostengineVersionInfo"});
}

TEST(LoadDcgm, NamesTheSearchedPathsAndARemedy) {
  FakeLoader loader;
  const StatusOr<DcgmLibrary> library = LoadDcgm(loader, "");
  EXPECT_EQ(library.status().code(), absl::StatusCode::kNotFound);
  std::string directories;
  for (const std::string_view directory : LibraryDirectories()) {
    directories += ", " + std::string(directory);
  }
  EXPECT_EQ(Text(library.status()),
            "libdcgm.so.4 or libdcgm.so.3 is in none of 6 paths (the linker's own search" +
                directories +
                "). Install the package datacenter-gpu-manager-4-core, in Kubernetes run the image "
                "podgpu-dcgm or set dcgm.library.image of the chart, or name the file with "
                "--libdcgm");
  EXPECT_EQ(loader.opened.size(), 2 * (LibraryDirectories().size() + 1));
}

TEST(LoadDcgm, DistinguishesAnUnreadableLibraryFromAnAbsentOne) {
  FakeLoader loader;
  loader.Break("libdcgm.so.4", "libdcgm.so.4: wrong ELF class: ELFCLASS32");
  const StatusOr<DcgmLibrary> library = LoadDcgm(loader, "");
  EXPECT_EQ(
      Text(library.status()),
      "libdcgm.so.4 or libdcgm.so.3 exists but cannot be opened: libdcgm.so.4: wrong ELF "
      "class: ELFCLASS32. Install the package datacenter-gpu-manager-4-core, in Kubernetes run "
      "the image podgpu-dcgm or set dcgm.library.image of the chart, or name the file with "
      "--libdcgm");
}

TEST(LoadDcgm, ReportsAWrongPath) {
  FakeLoader loader;
  const StatusOr<DcgmLibrary> library = LoadDcgm(loader, "/nowhere/libdcgm.so.4");
  EXPECT_EQ(Text(library.status()),
            "/nowhere/libdcgm.so.4 cannot be opened as libdcgm: /nowhere/libdcgm.so.4: cannot open "
            "shared object file: No such file or directory. Correct the path, or leave it out to "
            "have the usual 6 places searched");
}

TEST(LoadNvml, ResolvesAll) {
  FakeLoader loader;
  loader.Add("libnvidia-ml.so.1", AllOfNvml());
  const StatusOr<NvmlLibrary> library = LoadNvml(loader, "");
  ASSERT_TRUE(library.ok()) << library.status();
  EXPECT_TRUE(library->Has(NvmlCapability::kCore));
  EXPECT_TRUE(library->Has(NvmlCapability::kMig));
  EXPECT_NE(library->api.nvmlInit_v2, nullptr);
}

TEST(LoadNvml, ServesWholeGpusWithAnOldDriver) {
  FakeLoader loader;
  loader.Add("libnvidia-ml.so.1", Without(AllOfNvml(), {"nvmlDeviceGetGpuInstanceId",
                                                        "nvmlDeviceGetMigDeviceHandleByIndex"}));
  const StatusOr<NvmlLibrary> library = LoadNvml(loader, "");
  ASSERT_TRUE(library.ok()) << library.status();
  EXPECT_FALSE(library->Has(NvmlCapability::kMig));
  EXPECT_EQ(library->api.nvmlDeviceGetMaxMigDeviceCount, nullptr);
  EXPECT_EQ(library->off, std::vector<std::string>{"MIG UUIDs: off, libnvidia-ml.so.1 lacks "
                                                   "nvmlDeviceGetMigDeviceHandleByIndex, "
                                                   "nvmlDeviceGetGpuInstanceId"});
}

TEST(LoadNvml, LosesOnlyTheReadingWhoseSymbolIsMissing) {
  FakeLoader loader;
  loader.Add("libnvidia-ml.so.1", Without(AllOfNvml(), {"nvmlDeviceGetTemperatureV"}));
  const StatusOr<NvmlLibrary> library = LoadNvml(loader, "");
  ASSERT_TRUE(library.ok()) << library.status();
  EXPECT_EQ(library->api.nvmlDeviceGetTemperatureV, nullptr);
  EXPECT_NE(library->api.nvmlDeviceGetTemperature, nullptr);
  EXPECT_TRUE(library->Has(NvmlCapability::kDevices));
  EXPECT_EQ(library->off, std::vector<std::string>{"some readings: off, libnvidia-ml.so.1 lacks "
                                                   "nvmlDeviceGetTemperatureV"});
}

TEST(LoadNvml, Statement37NamesTheSearchedPaths) {
  FakeLoader loader;
  const StatusOr<NvmlLibrary> library = LoadNvml(loader, "");
  EXPECT_EQ(library.status().code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(Text(library.status()).starts_with("libnvidia-ml.so.1 is in none of 6 paths"))
      << library.status();
}

TEST(LoadDcgm, OpensARealSharedObject) {
  SystemLibraryLoader loader;
  const StatusOr<DcgmLibrary> library =
      LoadDcgm(loader, PODGPU_BINARY_DIR "/lib/testing/libdcgm_tiny.so");
  ASSERT_TRUE(library.ok()) << library.status();
  EXPECT_EQ(library->generation, DcgmGeneration::k4);
  EXPECT_STREQ(library->api.errorString(DCGM_ST_OK), "tiny success");
  EXPECT_EQ(library->api.dcgmInit(), DCGM_ST_NOT_SUPPORTED);
  EXPECT_FALSE(library->Has(DcgmCapability::kConnection));
}

TEST(LoadDcgm, RefusesARealLibraryThatIsNotDcgm) {
  SystemLibraryLoader loader;
  const StatusOr<DcgmLibrary> library =
      LoadDcgm(loader, PODGPU_BINARY_DIR "/lib/testing/libdcgm_stranger.so");
  EXPECT_EQ(library.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(Text(library.status()).find("libdcgm_stranger.so lacks errorString, "),
            std::string::npos);
}

TEST(LoadDcgm, ReportsWhyARealFileCannotBeOpened) {
  SystemLibraryLoader loader;
  const StatusOr<DcgmLibrary> library = LoadDcgm(loader, "./LICENSE");
  EXPECT_EQ(library.status().code(), absl::StatusCode::kNotFound);
  EXPECT_NE(Text(library.status()).find("/LICENSE: invalid ELF header"), std::string::npos)
      << library.status();
}

}  // namespace
}  // namespace podgpu::abi
