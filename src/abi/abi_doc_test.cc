#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "gtest/gtest.h"

#include "abi/dcgm_engine.h"
#include "abi/dcgm_links.h"
#include "abi/dcgm_process.h"
#include "abi/dcgm_table.h"
#include "abi/nvml_events.h"
#include "abi/nvml_gpm.h"
#include "abi/nvml_processes.h"
#include "abi/nvml_readings.h"
#include "abi/nvml_table.h"

namespace podgpu::abi {
namespace {

std::string ReadAll(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// docs/abi.md names every entry point that is called and every struct that is declared.
TEST(AbiDocument, NamesEverySymbol) {
  const std::string document = ReadAll("docs/abi.md");
#define X(result, symbol, capability, parameters) \
  EXPECT_NE(document.find("`" #symbol "`"), std::string::npos) << #symbol;
  PODGPU_DCGM_API(X)
  PODGPU_NVML_API(X)
#undef X
}

TEST(AbiDocument, NamesEveryStruct) {
  const std::string document = ReadAll("docs/abi.md");
  int structs = 0;
  for (const auto& entry : std::filesystem::directory_iterator("src/abi")) {
    const std::string name = entry.path().filename().string();
    const bool declares_abi =
        (name.starts_with("nvml") || name.starts_with("dcgm")) && name.ends_with(".h");
    if (!declares_abi || name.find("_table") != std::string::npos) {
      continue;
    }
    std::ifstream file(entry.path());
    for (std::string line; std::getline(file, line);) {
      if (line.starts_with("struct ") && line.ends_with(" {")) {
        const std::string declared = line.substr(7, line.size() - 9);
        EXPECT_NE(document.find("| `" + declared + "` |"), std::string::npos) << declared;
        ++structs;
      }
    }
  }
  EXPECT_GT(structs, 80);
}

TEST(AbiDocument, ListsTheSizesThatTheCompilerUses) {
  const std::string document = ReadAll("docs/abi.md");
  const struct {
    std::string name;
    size_t bytes;
  } rows[] = {{"dcgmFieldValue_v2", sizeof(dcgmFieldValue_v2)},
              {"dcgmPidInfo_v2", sizeof(dcgmPidInfo_v2)},
              {"dcgmHealthResponse_v5", sizeof(dcgmHealthResponse_v5)},
              {"dcgmNvLinkStatus_v5", sizeof(dcgmNvLinkStatus_v5)},
              {"dcgmCpuHierarchy_v2", sizeof(dcgmCpuHierarchy_v2)},
              {"dcgmModuleGetStatuses_v1", sizeof(dcgmModuleGetStatuses_v1)},
              {"nvmlPciInfo_t", sizeof(nvmlPciInfo_t)}};
  for (const auto& row : rows) {
    const std::string line = "| `" + row.name + "` | " + std::to_string(row.bytes) + " |";
    EXPECT_NE(document.find(line), std::string::npos) << line;
  }
}

}  // namespace
}  // namespace podgpu::abi
