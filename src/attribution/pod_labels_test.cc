#include "attribution/pod_labels.h"

#include <gtest/gtest.h>

#include "attribution/owner_facts.h"

namespace podgpu {
namespace {

using Patterns = std::vector<std::string>;

std::shared_ptr<const LabelAllowlist> ListOf(const Patterns& patterns) {
  return LabelAllowlist::Compile(patterns).value();
}

TEST(PodLabels, ReplacesCharactersThatALabelNameCannotContain) {
  struct Row {
    std::string key, name;
  };
  for (const Row& row :
       std::initializer_list<Row>{{"invalid.label/key", "invalid_label_key"},
                                  {"team", "team"},
                                  {"a_B9", "a_B9"},
                                  {"AZaz", "AZaz"},
                                  {"a@[`{", "a____"},
                                  {"a09/:", "a09__"},
                                  {"app.kubernetes.io/name", "app_kubernetes_io_name"},
                                  {"7zip", "_7zip"},
                                  {"a:b", "a_b"},
                                  {"\xc3\xa9", "__"},
                                  {"", ""}}) {
    EXPECT_EQ(LabelNameOf(row.key), row.name);
  }
}

TEST(PodLabels, SearchesTheAllowlistInTheOriginalKey) {
  struct Row {
    Patterns patterns;
    std::string key;
    bool allowed;
  };
  const Row rows[] = {
      {{}, "team", true},
      {{"^team$"}, "team", true},
      {{"^team$"}, "teams", false},
      {{"^app\\."}, "app.kubernetes.io/name", true},
      {{"^app_"}, "app.kubernetes.io/name", false},
      {{"io/"}, "app.kubernetes.io/name", true},
      {{"^a$", "^b$"}, "b", true},
      {{"^(a|b)$"}, "b", true},
      {{"^(a|b)$"}, "c", false},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(ListOf(row.patterns)->Allows(row.key), row.allowed) << row.key;
  }
}

TEST(PodLabels, RefusesAListWithAnInvalidPattern) {
  struct Row {
    Patterns patterns;
    std::string message;
  };
  const Row rows[] = {
      {{"[invalid"}, "\"[invalid\" is not a regular expression of RE2: missing ]: [invalid"},
      {{"^a$", "(a)\\1"},
       "\"(a)\\1\" is not a regular expression of RE2: invalid escape sequence: \\1"},
      {{"a{1001}"},
       "\"a{1001}\" is not a regular expression of RE2: invalid repetition size: {1001}"},
  };
  for (const Row& row : rows) {
    const auto list = LabelAllowlist::Compile(row.patterns);
    EXPECT_EQ(list.status().code(), absl::StatusCode::kInvalidArgument) << row.message;
    EXPECT_EQ(list.status().message(), row.message);
  }
}

TEST(PodLabels, UsesTheFirstOfTwoKeysWithOneName) {
  EXPECT_EQ(ListOf({})->Select({{"b", "3"}, {"a/x", "2"}, {"a.x", "1"}}).labels,
            (PodLabels{{"a_x", "1"}, {"b", "3"}}));
  EXPECT_EQ(ListOf({"/"})->Select({{"a/x", "2"}, {"a.x", "1"}}).labels, (PodLabels{{"a_x", "2"}}));
}

TEST(PodLabels, AreLimitedInNumberAndBytes) {
  PodLabels many;
  for (int i = 0; i < 20'000; ++i) {
    many.emplace_back("key-" + std::to_string(100'000 + i), "v");
  }
  const SelectedLabels few = ListOf({})->Select(many);
  EXPECT_EQ(few.labels.size(), kMostPodLabels);
  EXPECT_EQ(few.labels.front().first, "key_100000");
  EXPECT_EQ(few.dropped, 20'000 - kMostPodLabels);
  EXPECT_EQ(ListOf({"-10001[0-9]$"})->Select(many).labels.size(), 10U)
      << "only the allowed labels count";
  EXPECT_EQ(ListOf({"-10001[0-9]$"})->Select(many).dropped, 0U);
  const SelectedLabels large = ListOf({})->Select(
      {{"a", std::string(8'000, 'x')}, {"b", std::string(300, 'x')}, {"c", "x"}});
  EXPECT_EQ(large.labels.size(), 1U);
  EXPECT_EQ(large.dropped, 2U);
  EXPECT_EQ(ListOf({})->Select({{"a", std::string(kMostPodLabelBytes - 1, 'x')}}).dropped, 0U);
  EXPECT_EQ(ListOf({})->Select({{"a", std::string(kMostPodLabelBytes, 'x')}}).dropped, 1U);
}

TEST(PodLabels, AnOwnerHasTheLabelsOfItsPod) {
  Topology topology;
  topology.gpus.resize(2);
  topology.gpus[0].uuid = "GPU-0";
  topology.gpus[1].uuid = "GPU-1";
  NumberEntities(topology);
  OwnerFacts facts;
  facts.pods = std::make_shared<const PodAllocations>(PodAllocations{
      "v1",
      2,
      {{"ml", "a", "c", "nvidia.com/gpu", "GPU-0"}, {"ml", "b", "c", "nvidia.com/gpu", "GPU-1"}}});
  ApiObjects pods;
  pods["ml/a"].uid = "u-a";
  pods["ml/a"].labels = {{"team", "nlp"}, {"secret", "x"}};
  facts.api_pods = std::make_shared<const ApiObjects>(pods);
  JoinOptions options;
  Owners owners = MakeOwners(topology, facts, options);
  EXPECT_EQ(owners.by_entity[0].front().pod_uid, "u-a");
  EXPECT_EQ(owners.by_entity[0].front().labels, PodLabels{}) << "no label was requested";
  options.pod_labels = ListOf({"^team$"});
  owners = MakeOwners(topology, facts, options);
  EXPECT_EQ(owners.by_entity[0].front().labels, (PodLabels{{"team", "nlp"}}));
  EXPECT_EQ(owners.by_entity[1].front().pod_uid, "") << "the API server does not list it yet";
  EXPECT_TRUE(owners.dropped_labels.empty());
  for (int i = 0; i < 100; ++i) {
    pods["ml/a"].labels.emplace_back("team" + std::to_string(i), "x");
  }
  facts.api_pods = std::make_shared<const ApiObjects>(pods);
  options.pod_labels = ListOf({"^team"});
  owners = MakeOwners(topology, facts, options);
  EXPECT_EQ(owners.by_entity[0].front().labels.size(), kMostPodLabels);
  EXPECT_EQ(owners.dropped_labels, (std::vector<DroppedLabels>{{"ml", "a", 101 - kMostPodLabels}}));
}

}  // namespace
}  // namespace podgpu
