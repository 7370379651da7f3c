// podgpu_tidy ROOT: checks the shape of the tree and prints each complaint with its rule.  Exit
// code 0: clean, 1: complaints, 2: wrong use.
#include <cstdio>
#include <exception>
#include <filesystem>
#include <string>

#include "tools/tidy/checks.h"

namespace {

int Run(const std::filesystem::path& root) {
  using namespace podgpu::tidy;  // NOLINT(google-build-using-namespace): names the checks below.
  const Tree tree = ReadTree(root);
  Complaints complaints;
  CheckArrows(tree, complaints);
  CheckBudgets(tree, complaints);
  CheckCalls(tree, complaints);
  CheckHeaders(tree, complaints);
  CheckReach(tree, complaints);
  const auto exists = [&root](const std::string& path) {
    return std::filesystem::exists(root / path);
  };
  CheckLeftOut(tree, complaints);
  CheckLinks(tree, exists, complaints);
  CheckReferences(tree, exists, complaints);
  CheckWords(tree, complaints);
  for (const Complaint& complaint : complaints) {
    std::printf("%s\n", Format(complaint).c_str());
  }
  std::printf("%zu files, %zu complaints\n", tree.files.size(), complaints.size());
  return complaints.empty() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: podgpu_tidy ROOT\n", stderr);
    return 2;
  }
  try {
    return Run(argv[1]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "podgpu_tidy: %s: %s\n", argv[1], error.what());
    return 2;
  }
}
