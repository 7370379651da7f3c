#include "metrics_api/serving/tally.h"

#include <algorithm>
#include <vector>

namespace podgpu {
namespace {

// Sorts the sentences about the parts into those that prevent answers and those that do not.
struct Sentences {
  std::vector<std::string> missing, faults;

  // `prevents`: without its first state nothing can be answered. `unread`: said before that.
  void AddWatch(const WatchFacts& watch, bool prevents, const char* unread) {
    if (watch.is_ok) {
      return;
    }
    const bool is_new = !watch.has_data && watch.detail == WatchFacts().detail;
    std::vector<std::string>& of = is_new || (prevents && !watch.has_data) ? missing : faults;
    of.push_back(is_new ? unread : watch.detail);
  }

  void AddAuthority(const AuthorityFacts& authority) {
    const bool is_trusted = authority.is_trusted() || authority.was_trusted;
    for (size_t i = 0; i < authority.states.size(); ++i) {
      if (authority.states[i] == ApiServiceState::kUnknown) {
        missing.push_back("the APIService " + std::string(kApiServices[i]) +
                          " has not been read yet");
      } else if (authority.states[i] != ApiServiceState::kOurs) {
        (is_trusted ? faults : missing).push_back(authority.details[i]);
      }
    }
  }
};

// Joins the sentences and writes each once, because the API server is often the reason of several.
std::string JoinSentences(const std::vector<std::string>& sentences) {
  std::string text;
  for (size_t i = 0; i < sentences.size(); ++i) {
    const auto earlier = sentences.begin() + static_cast<std::ptrdiff_t>(i);
    if (std::find(sentences.begin(), earlier, sentences[i]) == earlier) {
      text += (text.empty() ? "" : "; ") + sentences[i];
    }
  }
  return text;
}

}  // namespace

void MetricsTally::CountCode(int code) {
  const auto* const found = std::ranges::find(kMetricsCodes, code);
  PODGPU_CHECK(found != kMetricsCodes.end());
  ++requests[static_cast<size_t>(found - kMetricsCodes.begin())];
}

MetricsApiVerdict JudgeMetricsApi(const MetricsApiFacts& facts) {
  Sentences sentences;
  sentences.AddWatch(facts.callers, true,
                     "it is not known yet which callers the API server trusts");
  if (!facts.has_table) {
    sentences.missing.emplace_back("no window of samples has been made yet");
  }
  sentences.AddWatch(facts.pod_labels, false, "the labels of pods have not been read yet");
  if (facts.node_labels) {
    sentences.AddWatch(*facts.node_labels, false, "the labels of nodes have not been read yet");
  }
  if (facts.authority) {
    sentences.AddAuthority(*facts.authority);
  }
  if (!facts.reviewer.is_ok) {
    sentences.faults.push_back("callers cannot be checked: " + facts.reviewer.detail);
  }
  if (facts.certificate_is_old) {
    sentences.faults.emplace_back(
        "the changed certificate files cannot be used, the log says why; the previous ones stay in "
        "use");
  }
  MetricsApiVerdict verdict;
  verdict.is_ready = sentences.missing.empty();
  verdict.has_fault = !verdict.is_ready || !sentences.faults.empty();
  const std::string faults = JoinSentences(sentences.faults);
  verdict.text = verdict.is_ready ? "ready" : "not ready: " + JoinSentences(sentences.missing);
  verdict.text += faults.empty() ? "" : "; " + faults;
  return verdict;
}

}  // namespace podgpu
