// Statement 38: metrics, JSON and the log of a node with faults have only the seven state words.
#include <algorithm>
#include <re2/re2.h>
#include <set>

#include <gtest/gtest.h>

#include "tests/e2e/failure_fixture.h"

namespace podgpu {
namespace {

const std::set<std::string> kStateWords = {"starting",     "waiting", "ok",        "degraded",
                                           "unresponsive", "lost",    "recovering"};

// The words that follow `key` in a text, in quotes or without.
std::set<std::string> StatesIn(const std::string& text, const std::string& key) {
  std::set<std::string> words;
  const re2::RE2 pattern(key + "\"?([a-z_]+)");
  re2::StringPiece rest(text);
  std::string word;
  while (re2::RE2::FindAndConsume(&rest, pattern, &word)) {
    words.insert(word);
  }
  return words;
}

class Statement38 : public FailureFixture {
 protected:
  Statement38() : FailureFixture(kThreeGpus) {}

  void SetUp() override { StartExporter(); }

  // Expects that `text` names `wanted` as a state, and none that is not one of the seven.
  static void ExpectStates(const std::string& text, const std::string& key,
                           const std::string& wanted) {
    const std::set<std::string> words = StatesIn(text, key);
    EXPECT_TRUE(words.contains(wanted)) << wanted << " in:\n" << text;
    EXPECT_TRUE(std::ranges::includes(kStateWords, words)) << text;
  }

  // Makes GPU 1 fail, and checks what podgpu says when the page has `state` for it.
  void ExpectWordsAfter(std::vector<std::string> fault, const std::string& state) {
    fault.insert(fault.begin(), "fault");
    node_.Command(fault);
    ASSERT_TRUE(AwaitPage([&](const MetricPage& page) {
      return page.Value("podgpu_gpu_state", {Gpu("1"), "state=\"" + state + "\""}) == 1;
    }));
    ExpectStates(Page().text(), "_state\\{[^\\n]*state=", state);
    ExpectStates(exporter_->Get("/api/v1/status"), "\"state\": ?", state);
    ExpectStates(exporter_->Get("/api/v1/node"), "\"state\": ?", state);
    EXPECT_NE(AwaitLog({"GPU state changed\" state=" + state}), "");
    ExpectStates(exporter_->process().output(), " state=", state);
  }
};

TEST_F(Statement38, ALostGpuHasOnlyTheSevenWords) {
  ExpectWordsAfter({"gpu_lost", "gpu=1"}, "lost");
}

TEST_F(Statement38, AGpuWithOldSamplesHasOnlyTheSevenWords) {
  ExpectWordsAfter({"watch_stale", "gpu=1"}, "unresponsive");
}

}  // namespace
}  // namespace podgpu
