// The simulated libraries as the loader sees them: names, needed libraries, soname and flags.
#include <algorithm>
#include <cstring>
#include <elf.h>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "sim/testing/dcgm_names.h"

namespace podgpu::sim {
namespace {

// The dynamic part of a shared object: its exported functions, and its dynamic entries.
struct SharedObject {
  std::set<std::string> functions;
  std::set<std::string> data;
  std::vector<std::string> needed;
  std::string soname;
  uint64_t flags = 0;
  uint64_t flags_1 = 0;
};

class ElfReader {
 public:
  explicit ElfReader(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    bytes_.resize(std::filesystem::file_size(path));
    file.read(bytes_.data(), static_cast<std::streamsize>(bytes_.size()));
    EXPECT_GT(bytes_.size(), sizeof(Elf64_Ehdr)) << path;
  }

  SharedObject Read() const {
    SharedObject object;
    const auto header = At<Elf64_Ehdr>(0);
    for (size_t i = 0; i < header.e_shnum; ++i) {
      const auto section = At<Elf64_Shdr>(header.e_shoff + i * header.e_shentsize);
      const auto strings = At<Elf64_Shdr>(header.e_shoff + section.sh_link * header.e_shentsize);
      for (uint64_t at = 0; at < section.sh_size; at += section.sh_entsize) {
        if (section.sh_type == SHT_DYNSYM) {
          AddSymbol(At<Elf64_Sym>(section.sh_offset + at), strings.sh_offset, object);
        } else if (section.sh_type == SHT_DYNAMIC) {
          AddDynamic(At<Elf64_Dyn>(section.sh_offset + at), strings.sh_offset, object);
        } else {
          break;
        }
      }
    }
    return object;
  }

 private:
  template <typename Struct>
  Struct At(uint64_t offset) const {
    Struct value{};
    std::memcpy(&value, bytes_.data() + offset, sizeof(value));
    return value;
  }
  std::string Text(uint64_t offset) const { return bytes_.data() + offset; }

  void AddSymbol(const Elf64_Sym& symbol, uint64_t strings, SharedObject& object) const {
    if (symbol.st_shndx == SHN_UNDEF) {
      return;
    }
    const bool function = ELF64_ST_TYPE(symbol.st_info) == STT_FUNC;
    (function ? object.functions : object.data).insert(Text(strings + symbol.st_name));
  }

  void AddDynamic(const Elf64_Dyn& entry, uint64_t strings, SharedObject& object) const {
    if (entry.d_tag == DT_NEEDED) {
      object.needed.push_back(Text(strings + entry.d_un.d_val));
    } else if (entry.d_tag == DT_SONAME) {
      object.soname = Text(strings + entry.d_un.d_val);
    } else if (entry.d_tag == DT_FLAGS) {
      object.flags = entry.d_un.d_val;
    } else if (entry.d_tag == DT_FLAGS_1) {
      object.flags_1 = entry.d_un.d_val;
    }
  }

  std::vector<char> bytes_;
};

// The parameter is the library's generation.
class DcgmExports : public testing::TestWithParam<int> {
 protected:
  static SharedObject Read() {
    return ElfReader(std::string(PODGPU_BINARY_DIR) + "/lib/libdcgm.so." +
                     std::to_string(GetParam()))
        .Read();
  }
};

INSTANTIATE_TEST_SUITE_P(Generations, DcgmExports, testing::Values(4, 3),
                         [](const auto& generation) {
                           return "so" + std::to_string(generation.param);
                         });

TEST_P(DcgmExports, ExactlyTheVendorsNamesAreExported) {
  const SharedObject object = Read();
  EXPECT_EQ(object.functions, DcgmNames(GetParam()));
  EXPECT_EQ(object.functions.size(), GetParam() == 4 ? 139U : 128U);
  EXPECT_TRUE(object.data.empty());
}

TEST_P(DcgmExports, NothingButLibcAndTheLoaderIsNeeded) {
  for (const std::string& needed : Read().needed) {
    EXPECT_TRUE(needed.starts_with("libc.so.") || needed.starts_with("ld-linux")) << needed;
  }
}

TEST_P(DcgmExports, TheLibraryBindsToItselfFirstAndStaysLoaded) {
  const SharedObject object = Read();
  EXPECT_EQ(object.soname, "libdcgm.so." + std::to_string(GetParam()));
  EXPECT_NE(object.flags & DF_SYMBOLIC, 0U);
  EXPECT_NE(object.flags_1 & DF_1_NODELETE, 0U);
}

}  // namespace
}  // namespace podgpu::sim
