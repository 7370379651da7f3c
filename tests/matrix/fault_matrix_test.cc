// The fault matrix: every vendor call that the exporter makes, and every fault that it can meet.
//
// Rows are recorded: the program runs through start, steady reading, a new MIG layout and the death
// of the engine, embedded and remote.  Each symbol that is called in a scene is a row of that scene
// and a test of its own, so a new call becomes a row automatically.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string_view>

#include "absl/strings/str_format.h"
#include <gtest/gtest.h>

#include "base/log.h"
#include "tests/matrix/dcgm_vendor.h"
#include "tests/matrix/fault_case.h"
#include "tests/matrix/live_heap.h"
#include "tests/matrix/nvml_vendor.h"
#include "tests/matrix/totals.h"

namespace podgpu {
namespace {

// The heap growth that a hundred cases may cause: texts and tables that grow once, and the buffers
// of one more connection, which are as long as a page (the server closes a connection that idles
// while the machine is busy).
constexpr int64_t kHeapSlackBytes = 72 << 10;
constexpr size_t kWarmUpCases = 3;

// The first row of a symbol uses every code; its other rows use every n-th code.
constexpr size_t kFewCodes = 7;
// Under a sanitizer, which is ten times slower and whose findings do not depend on the code.
constexpr size_t kFewestCodes = 23;
// A row uses every sixth column, and the next row uses other columns; with FAULT_MATRIX=full it
// uses all.  The thread sanitizer is another five times slower.  Races depend on the scene and the
// kind of fault, hardly on the call.
size_t ColumnsPerOneTaken() {
#if defined(PODGPU_THREAD_SANITIZER)
  return 12;
#else
  const char* const extent = std::getenv("FAULT_MATRIX");
  return extent != nullptr && std::string_view(extent) == "full" ? 1 : 6;
#endif
}
size_t CodesPerOneTaken() { return LiveHeapIsCounted() ? kFewCodes : kFewestCodes; }

struct Row {
  const Vendor* vendor;
  const Reference* reference;
  size_t mode;
  Scene scene;
  std::string symbol;
  size_t number;   // Index of the row.
  bool has_codes;  // Uses every code; else one in kFewCodes, different ones in each row.

  std::string Name() const {
    return absl::StrFormat("%s, %s, %s, %s", vendor->name, vendor->modes[mode], SceneName(scene),
                           symbol);
  }
};

class RowTest : public ::testing::Test {
 public:
  explicit RowTest(Row row) : row_(std::move(row)) {}

  void TestBody() override {
    ++Sum().rows;
    Sum().symbols.insert(row_.symbol);
    size_t codes = row_.number;
    std::optional<int64_t> first_heap;
    size_t columns = row_.number;
    for (const FaultColumn& column : row_.vendor->columns(row_.symbol)) {
      if (++columns % ColumnsPerOneTaken() != 0) {
        continue;
      }
      if (column.kind != FaultKind::kCode || TakesAllCodes() || ++codes % CodesPerOneTaken() == 0) {
        RunOne(column);
      }
      if (cases_ == kWarmUpCases && !first_heap) {
        first_heap = HeapOfFreshEngine();
      }
    }
    const std::optional<int64_t> last_heap = HeapOfFreshEngine();
    if (LiveHeapIsCounted() && first_heap && last_heap) {
      EXPECT_LE(*last_heap, *first_heap + kHeapSlackBytes)
          << row_.Name() << ": the heap has grown over " << cases_ << " cases";
    }
  }

 private:
  // A sanitizer finds races and memory errors, which do not depend on the number of a code.
  bool TakesAllCodes() const { return row_.has_codes && LiveHeapIsCounted(); }

  void RunOne(const FaultColumn& column) {
    ++Sum().cases;
    ++cases_;
    if (node_ == nullptr) {
      node_ = std::make_unique<MatrixNode>(*row_.vendor, row_.mode);
      if (row_.scene != Scene::kStart) {
        node_->Start();
        ASSERT_TRUE(AwaitHealthy(*node_, *row_.reference, 1)) << row_.Name();
        node_->Fetch("/metrics");  // The open connection counts among the descriptors.
      }
    }
    const std::vector<std::string> complaints = RunCase(
        *node_, {row_.scene, row_.symbol, column, row_.vendor->steps_to_heal}, *row_.reference);
    for (const std::string& complaint : complaints) {
      ADD_FAILURE() << row_.Name() << " x " << column.name << ": " << complaint;
    }
    Sum().failed += complaints.empty() ? 0U : 1U;
    if (!complaints.empty() || row_.scene == Scene::kStart) {
      node_.reset();
      return;
    }
    node_->vendor().forget_calls();
  }

  // Live bytes after the fake engine was restarted, because it remembers everything that was not
  // freed.
  std::optional<int64_t> HeapOfFreshEngine() {
    if (node_ == nullptr) {
      return std::nullopt;
    }
    node_->vendor().set_down(true);
    node_->Step();
    node_->vendor().set_down(false);
    EXPECT_TRUE(AwaitHealthy(*node_, *row_.reference, 2)) << row_.Name();
    node_->vendor().forget_calls();
    node_->Fetch("/healthz");  // Opens the connection again.
    return LiveHeapBytes();
  }

  const Row row_;
  std::unique_ptr<MatrixNode> node_;  // Used for one case after the other until one fails.
  size_t cases_ = 0;
};

void RegisterRows(const Vendor& vendor, const Reference& reference) {
  std::set<std::string> called;
  size_t number = 0;
  for (size_t mode = 0; mode < vendor.modes.size(); ++mode) {
    for (const Scene scene : kScenes) {
      for (const std::string& symbol : RecordCalls(vendor, mode, scene)) {
        const bool is_new = called.insert(symbol).second;
        if (mode >= 2 && !is_new) {
          continue;  // This way to connect differs only in its own calls.
        }
        const Row row{&vendor, &reference, mode, scene, symbol, number++, is_new};
        ::testing::RegisterTest("FaultMatrix", row.Name().c_str(), nullptr, nullptr, __FILE__,
                                __LINE__, [row] { return new RowTest(row); });
      }
    }
  }
  std::vector<std::string> uncalled;
  std::ranges::set_difference(vendor.symbols, called, std::back_inserter(uncalled));
  std::erase_if(uncalled, [&](const std::string& name) { return vendor.optional.contains(name); });
  ::testing::RegisterTest("FaultMatrixRows", (vendor.name + ": every symbol is called").c_str(),
                          nullptr, nullptr, __FILE__, __LINE__, [uncalled] {
                            class Coverage : public ::testing::Test {
                             public:
                              explicit Coverage(std::vector<std::string> names)
                                  : names_(std::move(names)) {}
                              void TestBody() override {
                                for (const std::string& name : names_) {
                                  ADD_FAILURE() << name << " is in the table and never called";
                                }
                              }

                             private:
                              const std::vector<std::string> names_;
                            };
                            return new Coverage(uncalled);
                          });
}

}  // namespace
}  // namespace podgpu

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  podgpu::ConfigureLog(podgpu::LogLevel::kError, podgpu::LogForm::kText);
  const podgpu::Vendor dcgm = podgpu::DcgmVendor();
  const podgpu::Reference dcgm_pages = podgpu::RecordReference(dcgm, 0);
  podgpu::RegisterRows(dcgm, dcgm_pages);
  const podgpu::Vendor nvml = podgpu::NvmlVendor();
  const podgpu::Reference nvml_pages = podgpu::RecordReference(nvml, 0);
  podgpu::RegisterRows(nvml, nvml_pages);
  const int result = RUN_ALL_TESTS();
  const podgpu::Totals& sum = podgpu::Sum();
  std::printf("fault matrix: %zu calls in %zu rows, %zu cases + kubelet %zu, %s\n",
              sum.symbols.size(), sum.rows, sum.cases, sum.kubelet_cases,
              result == 0 ? "all held" : (std::to_string(sum.failed) + " failed").c_str());
  return result;
}
