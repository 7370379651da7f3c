// Every function in the vendors' documents can be looked up in the simulated libraries, as shipped.
#include <dlfcn.h>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

namespace podgpu::sim {
namespace {

// The libraries of tests/abi_symbols.txt, each with its documented names.
using NamesByLibrary = std::map<std::string, std::set<std::string>>;

NamesByLibrary ReadSymbols() {
  NamesByLibrary names;
  std::ifstream file("tests/abi_symbols.txt");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name;
    if (line.starts_with('#') || !(words >> name)) {
      continue;
    }
    for (std::string library; words >> library;) {
      names[library].insert(name);
    }
  }
  return names;
}

void* OpenLibrary(const std::string& name) {
  const std::string path = PODGPU_BINARY_DIR "/lib/" + name;
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  EXPECT_NE(library, nullptr) << dlerror();
  return library;
}

// Documented names are found; other names are not.
TEST(AbiSymbols, FindsEveryDocumentedName) {
  const NamesByLibrary names = ReadSymbols();
  ASSERT_EQ(names.size(), 4U);
  for (const auto& [file, wanted] : names) {
    void* const library = OpenLibrary(file);
    ASSERT_NE(library, nullptr);
    EXPECT_GE(wanted.size(), 80U) << file;
    for (const std::string& name : wanted) {
      EXPECT_NE(dlsym(library, name.c_str()), nullptr) << file << " " << name;
      EXPECT_EQ(dlsym(library, (name + "_v99").c_str()), nullptr) << file;
    }
  }
}

// A name that identifies a generation must be missing in the other: programs distinguish them by
// it.
TEST(AbiSymbols, GenerationsDifferInNames) {
  const NamesByLibrary names = ReadSymbols();
  const std::map<std::string, std::string> others = {
      {"libdcgm.so.3", "libdcgm.so.4"},
      {"libdcgm.so.4", "libdcgm.so.3"},
      {"r470/libnvidia-ml.so.1", "libnvidia-ml.so.1"}};
  for (const auto& [file, other] : others) {
    void* const library = OpenLibrary(file);
    ASSERT_NE(library, nullptr);
    int lacking = 0;
    for (const std::string& name : names.at(other)) {
      if (!names.at(file).contains(name)) {
        EXPECT_EQ(dlsym(library, name.c_str()), nullptr) << file << " " << name;
        ++lacking;
      }
    }
    EXPECT_GT(lacking, 0) << file;
  }
}

}  // namespace
}  // namespace podgpu::sim
