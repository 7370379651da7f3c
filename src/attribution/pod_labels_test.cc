#include "attribution/pod_labels.h"

#include <gtest/gtest.h>

#include "attribution/owner_facts.h"

namespace podgpu {
namespace {

using Patterns = std::vector<std::string>;

TEST(PodLabels, ANameHasOnlyWhatALabelCanHold) {
  struct Row {
    std::string key, name;
  };
  for (const Row& row :
       std::initializer_list<Row>{{"invalid.label/key", "invalid_label_key"},
                                  {"team", "team"},
                                  {"a_B9", "a_B9"},
                                  {"app.kubernetes.io/name", "app_kubernetes_io_name"},
                                  {"7zip", "_7zip"},
                                  {"a:b", "a_b"},
                                  {"\xc3\xa9", "__"},
                                  {"", ""}}) {
    EXPECT_EQ(LabelNameOf(row.key), row.name);
  }
}

TEST(PodLabels, TheAllowlistIsSearchedInTheKeyAsItIs) {
  struct Row {
    Patterns patterns;
    std::string key;
    bool allowed;
    size_t complaints;
  };
  const Row rows[] = {
      {{}, "team", true, 0},
      {{"^team$"}, "team", true, 0},
      {{"^team$"}, "teams", false, 0},
      {{"^app\\."}, "app.kubernetes.io/name", true, 0},
      {{"^app_"}, "app.kubernetes.io/name", false, 0},
      {{"io/"}, "app.kubernetes.io/name", true, 0},
      {{"^a$", "^b$"}, "b", true, 0},
      {{"^(a|b)$"}, "b", true, 0},
      {{"^(a|b)$"}, "c", false, 0},
      {{"[invalid", "^a$"}, "a", true, 1},
      {{"[invalid", "^a$"}, "b", false, 1},
      {{"[invalid"}, "b", true, 2},
      {{"(a)\\1"}, "b", true, 2},
  };
  for (const Row& row : rows) {
    const LabelAllowlist allowlist(row.patterns);
    EXPECT_EQ(allowlist.Allows(row.key), row.allowed) << row.key;
    EXPECT_EQ(allowlist.complaints().size(), row.complaints) << row.key;
  }
}

TEST(PodLabels, OfTwoKeysWithOneNameTheFirstCounts) {
  const LabelAllowlist all({});
  EXPECT_EQ(all.Select({{"b", "3"}, {"a/x", "2"}, {"a.x", "1"}}),
            (PodLabels{{"a_x", "1"}, {"b", "3"}}));
  EXPECT_EQ(LabelAllowlist({"/"}).Select({{"a/x", "2"}, {"a.x", "1"}}), (PodLabels{{"a_x", "2"}}));
}

TEST(PodLabels, AnOwnerHasThoseOfItsPod) {
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
  EXPECT_EQ(owners.by_entity[0].front().labels, PodLabels{}) << "not asked for";
  options.pod_labels = std::make_shared<const LabelAllowlist>(Patterns{"^team$"});
  owners = MakeOwners(topology, facts, options);
  EXPECT_EQ(owners.by_entity[0].front().labels, (PodLabels{{"team", "nlp"}}));
  EXPECT_EQ(owners.by_entity[1].front().pod_uid, "") << "not listed yet";
}

}  // namespace
}  // namespace podgpu
