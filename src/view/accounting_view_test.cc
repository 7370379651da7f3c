#include "view/accounting_view.h"

#include <gtest/gtest.h>

#include "exposition/text.h"
#include "tests/strict_parser.h"

namespace podgpu {
namespace {

// Two GPUs with these accounting states.
class AccountingPage {
 public:
  AccountingPage() {
    names_.gpus = {{{0}, "0"}, {{1}, "1"}};
    names_.uuids = {{{0}, "GPU-a"}, {{1}, "GPU-b"}};
  }
  void Take(Accounting first, size_t ended, std::optional<Accounting> second) {
    now_ += std::chrono::seconds(1);
    ProcessReading reading{.at = now_, .devices = {}};
    reading.devices.resize(second ? 2 : 1);
    reading.devices[0].accounting = first;
    for (uint32_t i = 0; i < ended; ++i) {
      reading.devices[0].ended.push_back({.pid = ++pid_});
    }
    if (second) {
      reading.devices[1].device = {1};
      reading.devices[1].accounting = *second;
    }
    accounts_.Take(reading);
  }
  std::string Text() const {
    PlanBuilder builder;
    AddAccountingView(accounts_, names_, 2, builder);
    std::vector<Value> slots(2);
    AppendAccounting(accounts_, slots);
    EXPECT_EQ(slots.size(), 2 + AccountingSlotCount(accounts_));
    std::string text;
    RenderText(std::move(builder).Build(), nullptr, slots, text);
    EXPECT_TRUE(ParseTextStrictly(text).ok()) << ParseTextStrictly(text).status();
    return text;
  }

 private:
  ProcessAccounts accounts_{{}, {}};
  ProcessNames names_;
  Instant now_{std::chrono::hours(1)};
  uint32_t pid_ = 0;
};

bool Says(const std::string& page, const std::string& line) {
  return page.find('\n' + line) != std::string::npos;
}

TEST(AccountingView, SaysWhetherItIsOnAndCountsShortProcesses) {
  AccountingPage page;
  page.Take(Accounting::kOn, 2, Accounting::kOff);
  page.Take(Accounting::kOn, 1, Accounting::kOff);
  const std::string text = page.Text();
  EXPECT_TRUE(Says(text, "podgpu_gpu_accounting_enabled{gpu=\"0\",UUID=\"GPU-a\"} 1\n")) << text;
  EXPECT_TRUE(Says(text, "podgpu_gpu_accounting_enabled{gpu=\"1\",UUID=\"GPU-b\"} 0\n")) << text;
  EXPECT_TRUE(Says(text, "podgpu_gpu_short_processes_total{gpu=\"0\",UUID=\"GPU-a\"} 3\n"));
  EXPECT_FALSE(Says(text, "podgpu_gpu_short_processes_total{gpu=\"1\""))
      << "the number is not known";
}

TEST(AccountingView, IsAbsentIfItCannotBeReadAndKeepsItsCount) {
  AccountingPage page;
  page.Take(Accounting::kOn, 2, Accounting::kNotPermitted);
  EXPECT_FALSE(Says(page.Text(), "podgpu_gpu_accounting_enabled{gpu=\"1\""));
  page.Take(Accounting::kNotSupported, 0, Accounting::kFailed);
  EXPECT_FALSE(Says(page.Text(), "podgpu_gpu_accounting_enabled{gpu="));
  EXPECT_TRUE(Says(page.Text(), "podgpu_gpu_short_processes_total{gpu=\"0\",UUID=\"GPU-a\"} 2\n"));
  page.Take(Accounting::kOn, 0, Accounting::kOn);
  page.Take(Accounting::kOn, 0, std::nullopt);
  EXPECT_FALSE(Says(page.Text(), "podgpu_gpu_accounting_enabled{gpu=\"1\"")) << "its line is gone";
}

}  // namespace
}  // namespace podgpu
