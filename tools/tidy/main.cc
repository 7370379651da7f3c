// podgpu_tidy ROOT: checks the shape of the tree and prints each complaint with its rule.  Exit
// code 0: clean, 1: complaints, 2: wrong use.
#include <cstdio>
#include <exception>

#include "tools/tidy/complaint.h"

namespace {

int Run(const char* root) {
  using namespace podgpu::tidy;  // NOLINT(google-build-using-namespace): names the checks below.
  const Tree tree = ReadTree(root);
  Complaints complaints;
  for (const auto check : {CheckArrows, CheckFiles, CheckLinks, CheckReferences}) {
    check(tree, complaints);
  }
  for (const Complaint& complaint : complaints) {
    std::printf("%s:%d: %s (%s)\n", complaint.file.c_str(), complaint.line, complaint.what.c_str(),
                complaint.rule);
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
