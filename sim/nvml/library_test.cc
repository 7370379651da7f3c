// The simulated libnvidia-ml as its clients use it: opened by path, bound by name.
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "abi/nvml.h"
#include "sim/testing/node.h"
#include "sim/testing/nvml_client.h"
#include "sim/world/run_directory.h"

namespace podgpu::sim {
namespace {

using namespace podgpu::abi;

constexpr char kLibrary[] = PODGPU_BINARY_DIR "/lib/libnvidia-ml.so.1";
constexpr char kScenario[] = R"(format: 1
name: identity
seed: 42
driver: {version: 570.124.06, nvml: 12.570.124.06, cuda: 12080}
gpus:
  - {count: 2, class: h100-sxm5-80gb, first_bus: "00000000:1B:00.0"}
  - {class: h100-sxm5-80gb, mig: [{profile: 3g.40gb}, {profile: 2g.20gb}, {profile: 1g.10gb}]}
  - {class: l40s}
)";

// Opens the library as a program on a node does.
class NvmlTest : public testing::Test {
 protected:
  NvmlTest() : node_(kScenario) { setenv("PODGPU_SIM_DIR", node_.path().c_str(), 1); }
  ~NvmlTest() override { unsetenv("PODGPU_SIM_DIR"); }

  // As the client's.
  template <typename... Arguments>
  int Call(const char* name, Arguments... arguments) {
    return client_.Call(name, arguments...);
  }
  nvmlDevice_t ByIndex(unsigned index) { return client_.ByIndex(index); }
  nvmlDevice_t Mig(unsigned gpu, unsigned index) { return client_.Mig(gpu, index); }
  std::string Text(const char* name, nvmlDevice_t device) { return client_.Text(name, device); }
  unsigned Number(const char* name, nvmlDevice_t device) { return client_.Number(name, device); }

  TestNode node_;
  NvmlClient client_;
};

class InitialisedNvmlTest : public NvmlTest {
 protected:
  InitialisedNvmlTest() { EXPECT_EQ(Call("nvmlInit_v2"), NVML_SUCCESS); }
  ~InitialisedNvmlTest() override { EXPECT_EQ(Call("nvmlShutdown"), NVML_SUCCESS); }
};

// The dynamic section and symbols of a shared object, read from its file.
class ElfFile {
 public:
  explicit ElfFile(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    bytes_ = text.str();
    const auto header = At<Elf64_Ehdr>(0);
    for (unsigned i = 0; i < header.e_shnum; ++i) {
      const auto section = At<Elf64_Shdr>(header.e_shoff + i * sizeof(Elf64_Shdr));
      const auto names = At<Elf64_Shdr>(header.e_shoff + section.sh_link * sizeof(Elf64_Shdr));
      if (section.sh_type == SHT_DYNSYM) {
        ReadSymbols(section, names);
      } else if (section.sh_type == SHT_DYNAMIC) {
        ReadDynamic(section, names);
      }
    }
  }
  std::set<std::string> exported, needed;
  std::string soname;
  bool stays_loaded = false, binds_to_itself = false;

 private:
  template <typename T>
  T At(size_t offset) const {
    T object;
    std::memcpy(&object, bytes_.data() + offset, sizeof object);
    return object;
  }
  void ReadSymbols(const Elf64_Shdr& section, const Elf64_Shdr& names) {
    for (size_t i = 0; i < section.sh_size; i += sizeof(Elf64_Sym)) {
      const auto symbol = At<Elf64_Sym>(section.sh_offset + i);
      if (symbol.st_shndx != SHN_UNDEF) {
        exported.insert(bytes_.data() + names.sh_offset + symbol.st_name);
      }
    }
  }
  void ReadDynamic(const Elf64_Shdr& section, const Elf64_Shdr& names) {
    for (size_t i = 0; i < section.sh_size; i += sizeof(Elf64_Dyn)) {
      const auto entry = At<Elf64_Dyn>(section.sh_offset + i);
      const char* const text = bytes_.data() + names.sh_offset + entry.d_un.d_val;
      if (entry.d_tag == DT_NEEDED) {
        needed.insert(text);
      } else if (entry.d_tag == DT_SONAME) {
        soname = text;
      } else if (entry.d_tag == DT_FLAGS_1) {
        stays_loaded = (entry.d_un.d_val & DF_1_NODELETE) != 0;
      } else if (entry.d_tag == DT_SYMBOLIC ||
                 (entry.d_tag == DT_FLAGS && (entry.d_un.d_val & DF_SYMBOLIC) != 0)) {
        binds_to_itself = true;
      }
    }
  }
  std::string bytes_;
};

TEST(NvmlLibrary, ExportsEveryNameOfTheVendorAndNothingElse) {
  std::set<std::string> names;
  std::ifstream list("sim/nvml/names.txt");
  for (std::string name; std::getline(list, name);) {
    names.insert(name);
  }
  EXPECT_EQ(names.size(), 413U);
  const ElfFile library(kLibrary);
  EXPECT_EQ(library.exported, names);
}

// The vendor's library is built for old C libraries, where threads and dlopen are files of their
// own: a container without these files cannot load it.
TEST(NvmlLibrary, NeedsThePartsOfTheCLibraryThatTheVendorsNeedsAndStaysLoaded) {
  const ElfFile library(kLibrary);
  EXPECT_EQ(library.soname, "libnvidia-ml.so.1");
  const std::set<std::string> parts = {"libc.so.6", "libdl.so.2", "libm.so.6", "libpthread.so.0",
                                       "librt.so.1"};
  for (const std::string& needed : library.needed) {
    EXPECT_TRUE(parts.contains(needed) || needed.starts_with("ld-linux")) << needed;
  }
  for (const char* part : {"libdl.so.2", "libpthread.so.0", "librt.so.1"}) {
    EXPECT_TRUE(library.needed.contains(part)) << part;
  }
  EXPECT_TRUE(library.stays_loaded);
  EXPECT_TRUE(library.binds_to_itself);
  EXPECT_TRUE(std::filesystem::exists(PODGPU_BINARY_DIR "/lib/libnvidia-ml.so"));
}

TEST_F(NvmlTest, CountsItsUsers) {
  unsigned count = 0;
  EXPECT_EQ(Call("nvmlDeviceGetCount_v2", &count), NVML_ERROR_UNINITIALIZED);
  EXPECT_EQ(Call("nvmlShutdown"), NVML_ERROR_UNINITIALIZED);
  EXPECT_EQ(Call("nvmlInit_v2"), NVML_SUCCESS);
  EXPECT_EQ(Call("nvmlInit"), NVML_SUCCESS);
  EXPECT_EQ(Call("nvmlShutdown"), NVML_SUCCESS);
  EXPECT_EQ(Call("nvmlDeviceGetCount_v2", &count), NVML_SUCCESS);
  EXPECT_EQ(count, 4U);
  EXPECT_EQ(Call("nvmlShutdown"), NVML_SUCCESS);
  EXPECT_EQ(Call("nvmlDeviceGetCount_v2", &count), NVML_ERROR_UNINITIALIZED);
}

TEST_F(NvmlTest, HasNoDriverWithoutARunDirectory) {
  setenv("PODGPU_SIM_DIR", "/nowhere/at/all", 1);
  EXPECT_EQ(Call("nvmlInit_v2"), NVML_ERROR_DRIVER_NOT_LOADED);
  unsetenv("PODGPU_SIM_DIR");
  EXPECT_EQ(Call("nvmlInit_v2"), NVML_ERROR_DRIVER_NOT_LOADED);
  setenv("PODGPU_SIM_DIR", node_.path().c_str(), 1);
  EXPECT_EQ(Call("nvmlInit_v2"), NVML_SUCCESS);
  EXPECT_EQ(Call("nvmlShutdown"), NVML_SUCCESS);
}

TEST_F(NvmlTest, FailsWithoutGpusUnlessTheCallerAllowsThat) {
  const TestNode empty("format: 1\nname: none\nseed: 1\ngpus: []\n");
  setenv("PODGPU_SIM_DIR", empty.path().c_str(), 1);
  EXPECT_EQ(Call("nvmlInit_v2"), NVML_ERROR_GPU_NOT_FOUND);
  EXPECT_EQ(Call("nvmlInitWithFlags", 1U), NVML_SUCCESS);
  unsigned count = 9;
  EXPECT_EQ(Call("nvmlDeviceGetCount_v2", &count), NVML_SUCCESS);
  EXPECT_EQ(count, 0U);
  EXPECT_EQ(Call("nvmlShutdown"), NVML_SUCCESS);
}

TEST_F(NvmlTest, DescribesCodesBeforeInitialisation) {
  auto* const words = reinterpret_cast<const char* (*)(int)>(client_.Entry("nvmlErrorString"));
  ASSERT_NE(words, nullptr);
  std::set<std::string> texts;
  for (int code = 0; code <= 30; ++code) {
    texts.insert(words(code));
  }
  EXPECT_EQ(texts.size(), 31U) << "a text for each code";
  EXPECT_STREQ(words(0), "Success");
  EXPECT_STREQ(words(999), "Unknown Error");
  EXPECT_STREQ(words(-5), "Unknown Error");
}

TEST_F(InitialisedNvmlTest, ReportsTheVersions) {
  char text[80] = {};
  EXPECT_EQ(Call("nvmlSystemGetDriverVersion", &text[0], 80U), NVML_SUCCESS);
  EXPECT_STREQ(text, "570.124.06");
  EXPECT_EQ(Call("nvmlSystemGetNVMLVersion", &text[0], 80U), NVML_SUCCESS);
  EXPECT_STREQ(text, "12.570.124.06");
  for (const char* name : {"nvmlSystemGetCudaDriverVersion", "nvmlSystemGetCudaDriverVersion_v2"}) {
    int cuda = 0;
    EXPECT_EQ(Call(name, &cuda), NVML_SUCCESS);
    EXPECT_EQ(cuda, 12080);
  }
  char* const nothing = nullptr;
  EXPECT_EQ(Call("nvmlSystemGetDriverVersion", &text[0], 10U), NVML_ERROR_INSUFFICIENT_SIZE);
  EXPECT_EQ(Call("nvmlSystemGetDriverVersion", &text[0], 11U), NVML_SUCCESS);
  EXPECT_EQ(Call("nvmlSystemGetDriverVersion", nothing, 80U), NVML_ERROR_INVALID_ARGUMENT);
}

TEST_F(InitialisedNvmlTest, FindsAGpuByIndexAndUuid) {
  std::string error;
  const auto directory = RunDirectory::Open(node_.path(), error);
  ASSERT_NE(directory, nullptr) << error;
  for (unsigned index = 0; index < 4; ++index) {
    const GpuFacts& facts = directory->world().gpu(static_cast<int>(index));
    const nvmlDevice_t device = ByIndex(index);
    EXPECT_EQ(Text("nvmlDeviceGetUUID", device), facts.uuid);
    EXPECT_EQ(Text("nvmlDeviceGetName", device), facts.model);
    EXPECT_EQ(Text("nvmlDeviceGetSerial", device), facts.serial);
    EXPECT_EQ(Number("nvmlDeviceGetIndex", device), index);
    EXPECT_EQ(Number("nvmlDeviceGetMinorNumber", device),
              static_cast<unsigned>(facts.minor_number));
    nvmlDevice_t same = nullptr;
    EXPECT_EQ(Call("nvmlDeviceGetHandleByUUID", std::string(facts.uuid).c_str(), &same),
              NVML_SUCCESS);
    EXPECT_EQ(same, device);
  }
}

TEST_F(InitialisedNvmlTest, RefusesUnknownDevices) {
  nvmlDevice_t device = nullptr;
  nvmlDevice_t* const nowhere = nullptr;
  const char* const no_text = nullptr;
  struct Case {
    const char* what;
    int got, expected;
  };
  const Case cases[] = {
      {"index", Call("nvmlDeviceGetHandleByIndex_v2", 4U, &device), NVML_ERROR_INVALID_ARGUMENT},
      {"index", Call("nvmlDeviceGetHandleByIndex_v2", ~0U, &device), NVML_ERROR_INVALID_ARGUMENT},
      {"null output pointer", Call("nvmlDeviceGetHandleByIndex_v2", 0U, nowhere),
       NVML_ERROR_INVALID_ARGUMENT},
      {"unknown", Call("nvmlDeviceGetHandleByUUID", "GPU-0", &device), NVML_ERROR_NOT_FOUND},
      {"null text", Call("nvmlDeviceGetHandleByUUID", no_text, &device),
       NVML_ERROR_INVALID_ARGUMENT},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(c.got, c.expected) << c.what;
  }
  int made_up = 0;
  unsigned number = 0;
  EXPECT_EQ(Call("nvmlDeviceGetIndex", reinterpret_cast<nvmlDevice_t>(&made_up), &number),
            NVML_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(Call("nvmlDeviceGetIndex", device, &number), NVML_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(Call("nvmlDeviceGetBoardId", ByIndex(0), &number), NVML_ERROR_NOT_SUPPORTED)
      << "the name is exported but not simulated";
}

TEST_F(InitialisedNvmlTest, FillsPciFacts) {
  nvmlPciInfo_t pci;
  ASSERT_EQ(Call("nvmlDeviceGetPciInfo_v3", ByIndex(0), &pci), NVML_SUCCESS);
  EXPECT_STREQ(pci.busId, "00000000:1B:00.0");
  EXPECT_STREQ(pci.busIdLegacy, "0000:1B:00.0");
  EXPECT_EQ(pci.domain, 0U);
  EXPECT_EQ(pci.bus, 0x1BU);
  EXPECT_EQ(pci.device, 0U);
  EXPECT_EQ(pci.pciDeviceId & 0xffffU, 0x10DEU);
}

TEST_F(InitialisedNvmlTest, EnumeratesMigDevicesWithTheirParentAndIds) {
  unsigned current = 9;
  unsigned pending = 9;
  EXPECT_EQ(Call("nvmlDeviceGetMigMode", ByIndex(0), &current, &pending), NVML_SUCCESS);
  EXPECT_EQ(current + pending, 0U);
  EXPECT_EQ(Call("nvmlDeviceGetMigMode", ByIndex(2), &current, &pending), NVML_SUCCESS);
  EXPECT_EQ(current + pending, 2U);
  EXPECT_EQ(Call("nvmlDeviceGetMigMode", ByIndex(3), &current, &pending), NVML_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(Number("nvmlDeviceGetMaxMigDeviceCount", ByIndex(0)), 0U);
  EXPECT_EQ(Number("nvmlDeviceGetMaxMigDeviceCount", ByIndex(2)), 7U);

  std::string error;
  const auto directory = RunDirectory::Open(node_.path(), error);
  ASSERT_NE(directory, nullptr) << error;
  const World& world = directory->world();
  std::set<std::string> uuids;
  for (unsigned i = 0; i < 3; ++i) {
    const nvmlDevice_t device = Mig(2, i);
    const GpuInstanceFacts instance = world.instance(2, static_cast<int>(i), 0);
    const ComputeInstanceFacts compute = world.compute(2, static_cast<int>(i), 0, 0);
    EXPECT_EQ(Text("nvmlDeviceGetUUID", device), compute.mig_uuid);
    uuids.insert(Text("nvmlDeviceGetUUID", device));
    EXPECT_EQ(Text("nvmlDeviceGetName", device),
              std::string(world.gpu(2).model) + " MIG " + std::string(instance.profile));
    EXPECT_EQ(Number("nvmlDeviceGetGpuInstanceId", device),
              static_cast<unsigned>(instance.gpu_instance_id));
    EXPECT_EQ(Number("nvmlDeviceGetComputeInstanceId", device),
              static_cast<unsigned>(compute.compute_instance_id));
    EXPECT_EQ(Number("nvmlDeviceGetIndex", device), i);
    nvmlDevice_t other = nullptr;
    EXPECT_EQ(Call("nvmlDeviceGetDeviceHandleFromMigDeviceHandle", device, &other), NVML_SUCCESS);
    EXPECT_EQ(other, ByIndex(2));
    const std::string uuid(compute.mig_uuid);
    EXPECT_EQ(Call("nvmlDeviceGetHandleByUUID", uuid.c_str(), &other), NVML_SUCCESS);
    EXPECT_EQ(other, device);
  }
  EXPECT_EQ(uuids.size(), 3U);
  EXPECT_EQ(uuids.begin()->substr(0, 4), "MIG-");
}

TEST_F(InitialisedNvmlTest, RefusesMigCallsOnGpusAndGpuCallsOnMigDevices) {
  unsigned number = 0;
  char text[96];
  nvmlDevice_t other = nullptr;
  const nvmlDevice_t gpu = ByIndex(2);
  const nvmlDevice_t mig = Mig(2, 0);
  struct Case {
    const char* what;
    int got, expected;
  };
  const Case cases[] = {
      {"instance of a GPU", Call("nvmlDeviceGetGpuInstanceId", gpu, &number),
       NVML_ERROR_INVALID_ARGUMENT},
      {"compute of a GPU", Call("nvmlDeviceGetComputeInstanceId", gpu, &number),
       NVML_ERROR_INVALID_ARGUMENT},
      {"parent of a GPU", Call("nvmlDeviceGetDeviceHandleFromMigDeviceHandle", gpu, &other),
       NVML_ERROR_INVALID_ARGUMENT},
      {"serial of a MIG device", Call("nvmlDeviceGetSerial", mig, &text[0], 96U),
       NVML_ERROR_NOT_SUPPORTED},
      {"minor of a MIG device", Call("nvmlDeviceGetMinorNumber", mig, &number),
       NVML_ERROR_NOT_SUPPORTED},
      {"MIG of a MIG device", Call("nvmlDeviceGetMigDeviceHandleByIndex", mig, 0U, &other),
       NVML_ERROR_NOT_SUPPORTED},
      {"fourth MIG device", Call("nvmlDeviceGetMigDeviceHandleByIndex", gpu, 3U, &other),
       NVML_ERROR_NOT_FOUND},
      {"eighth MIG device", Call("nvmlDeviceGetMigDeviceHandleByIndex", gpu, 7U, &other),
       NVML_ERROR_INVALID_ARGUMENT},
      {"MIG of a GPU without", Call("nvmlDeviceGetMigDeviceHandleByIndex", ByIndex(0), 0U, &other),
       NVML_ERROR_NOT_FOUND},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(c.got, c.expected) << c.what;
  }
}

TEST_F(InitialisedNvmlTest, RefusesHandlesOfAnOldMigLayout) {
  const nvmlDevice_t before = Mig(2, 0);
  const std::string uuid = Text("nvmlDeviceGetUUID", before);
  const CompileResult changed = CompileScenario(
      kScenario, "test.yaml", "- {at: 5s, kind: mig_set, gpu: 2, layout: [3g.40gb, 3g.40gb]}\n",
      "control.yaml");
  ASSERT_TRUE(changed.errors.empty()) << changed.errors.front();
  ASSERT_TRUE(node_.writer().PublishControl(changed.image).ok());
  EXPECT_EQ(Text("nvmlDeviceGetUUID", before), uuid) << "the old layout is still in force";
  ASSERT_TRUE(node_.writer().Tick(6'000'000).ok());
  char text[96];
  EXPECT_EQ(Call("nvmlDeviceGetUUID", before, &text[0], 96U), NVML_ERROR_INVALID_ARGUMENT);
  nvmlDevice_t device = nullptr;
  EXPECT_EQ(Call("nvmlDeviceGetHandleByUUID", uuid.c_str(), &device), NVML_ERROR_NOT_FOUND);
  EXPECT_NE(Text("nvmlDeviceGetUUID", Mig(2, 1)), uuid);
  EXPECT_EQ(Text("nvmlDeviceGetUUID", ByIndex(2)).substr(0, 4), "GPU-");
}

}  // namespace
}  // namespace podgpu::sim
