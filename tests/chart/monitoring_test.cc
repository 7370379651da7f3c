// Rules and dashboards in the chart: the same as deploy/rules and deploy/dashboards, in the form
// that the Prometheus Operator and Grafana's side-car read.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <re2/re2.h>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/chart/helm.h"
#include "tests/e2e/child.h"

namespace podgpu {
namespace {

constexpr char kPromtool[] = "build/tools/prometheus/usr/bin/promtool";
// A cluster accepts no larger ConfigMap.
constexpr size_t kMostBytes = 1 << 20;

// The files of a folder of deploy/ with this ending, by name.
std::map<std::string, std::string> FilesOf(const std::string& folder, const std::string& ending) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename();
    if (name.ends_with(ending)) {
      std::ifstream file(entry.path());
      files[name] = {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    }
  }
  return files;
}

std::map<std::string, std::string> Rules() { return FilesOf("deploy/rules", ".rules.yaml"); }
std::map<std::string, std::string> Dashboards() { return FilesOf("deploy/dashboards", ".json"); }

// Whether two nodes of YAML have the same content; the order of keys says nothing.
bool IsSame(const YAML::Node& one, const YAML::Node& other) {
  if (one.Type() != other.Type() || one.size() != other.size()) {
    return false;
  }
  if (one.IsMap()) {
    for (const auto& entry : one) {
      const YAML::Node same = other[entry.first.Scalar()];
      if (!same.IsDefined() || !IsSame(entry.second, same)) {
        return false;
      }
    }
    return true;
  }
  for (size_t at = 0; at < one.size(); ++at) {
    if (!IsSame(one[at], other[at])) {
      return false;
    }
  }
  return !one.IsScalar() || one.Scalar() == other.Scalar();
}

// The rule of an alert; undefined if the groups have none.
YAML::Node RuleOf(const YAML::Node& groups, const std::string& alert) {
  for (const YAML::Node& group : groups) {
    for (const YAML::Node& rule : group["rules"]) {
      if (TextAt(rule, "alert") == alert) {
        return rule;
      }
    }
  }
  return YAML::Node(YAML::NodeType::Undefined);
}

// Reads the groups of some of the files, one after the other, with the job of the release.
YAML::Node GroupsOf(const std::vector<std::string>& names) {
  YAML::Node groups(YAML::NodeType::Sequence);
  for (const std::string& name : names) {
    for (const YAML::Node& group : YAML::Load(Rules().at(name))["groups"]) {
      groups.push_back(group);
    }
  }
  if (YAML::Node down = RuleOf(groups, "PodGPUExporterDown"); down.IsDefined()) {
    down["expr"] = "up{job=~\"(gpu/)?podgpu\"} == 0";
  }
  return groups;
}

// The specification of the only PrometheusRule.
YAML::Node RuleSpec(const std::string& set) {
  return Rendering({"--set", "prometheusRule.enabled=true" + set})
      .Object("PrometheusRule podgpu")["spec"];
}

// The dashboards of a rendering: the key of the ConfigMap, and its text.
std::map<std::string, std::string> RenderedDashboards(const Rendering& rendering) {
  std::map<std::string, std::string> found;
  for (const YAML::Node& object : rendering.objects()) {
    if (TextAt(object, "metadata/name").find("-dashboard-") == std::string::npos) {
      continue;
    }
    EXPECT_EQ(object["data"].size(), 1U);
    for (const auto& entry : object["data"]) {
      EXPECT_TRUE(found.emplace(entry.first.Scalar(), entry.second.Scalar()).second)
          << entry.first.Scalar() << " is in two ConfigMaps; the side-car keeps one";
    }
  }
  return found;
}

TEST(ChartRules, AreThoseOfTheFiles) {
  const std::string native = "podgpu.rules.yaml";
  const std::string dcgm = "podgpu-dcgm.rules.yaml";
  EXPECT_TRUE(IsSame(RuleSpec("")["groups"], GroupsOf({native})));
  EXPECT_TRUE(IsSame(RuleSpec(",prometheusRule.names=dcgm")["groups"], GroupsOf({dcgm})));
  EXPECT_TRUE(IsSame(RuleSpec(",prometheusRule.names=both")["groups"], GroupsOf({native, dcgm})));
  EXPECT_FALSE(IsSame(RuleSpec("")["groups"], GroupsOf({dcgm})));
}

TEST(ChartRules, HaveTheValuesOfTheirAlerts) {
  const YAML::Node groups = RuleSpec(
      ",prometheusRule.runbookUrl=https://docs.example/gpus,"
      "prometheusRule.alerts.PodGPUDataStale.threshold=0,prometheusRule.alerts.PodGPUHot.for=1m,"
      "prometheusRule.alerts.PodGPUHot.severity=page,"
      "prometheusRule.alerts.PodGPUXidApplication.enabled=false")["groups"];
  EXPECT_EQ(TextAt(RuleOf(groups, "PodGPUDataStale"), "expr"), "podgpu_sample_age_seconds > 0");
  EXPECT_EQ(TextAt(RuleOf(groups, "PodGPUDataStale"), "for"), "2m");
  const YAML::Node hot = RuleOf(groups, "PodGPUHot");
  EXPECT_EQ(TextAt(hot, "for"), "1m");
  EXPECT_EQ(TextAt(hot, "labels/severity"), "page");
  EXPECT_EQ(TextAt(hot, "annotations/runbook_url"), "https://docs.example/gpus#podgpuhot");
  EXPECT_FALSE(RuleOf(groups, "PodGPUXidApplication").IsDefined());
}

TEST(ChartRules, HaveTheIntervalOfTheValues) {
  const YAML::Node groups = RuleSpec(",prometheusRule.names=both,prometheusRule.interval=1m30s");
  ASSERT_EQ(groups["groups"].size(), 3U);
  for (YAML::Node group : groups["groups"]) {
    EXPECT_EQ(TextAt(group, "interval"), "1m30s");
    group.remove("interval");
  }
  EXPECT_TRUE(IsSame(groups["groups"], GroupsOf({"podgpu.rules.yaml", "podgpu-dcgm.rules.yaml"})));
}

TEST(ChartRules, PassPrometheussCheck) {
  for (const char* const set : {"", ",prometheusRule.names=dcgm,prometheusRule.interval=30s",
                                ",prometheusRule.names=both"}) {
    const TemporaryFolder folder;
    Child promtool(
        {kPromtool, "check", "rules", folder.Write("rules.yaml", YAML::Dump(RuleSpec(set)))});
    EXPECT_EQ(promtool.Wait(), 0) << promtool.output();
    EXPECT_NE(promtool.output().find("SUCCESS: "), std::string::npos) << promtool.output();
  }
}

TEST(ChartRules, GoWhereTheValuesSay) {
  const Rendering rendering({"--set",
                             "prometheusRule.enabled=true,prometheusRule.namespace=monitoring,"
                             "prometheusRule.additionalLabels.release=p"});
  EXPECT_EQ(rendering.Text("PrometheusRule", "metadata/namespace"), "monitoring");
  EXPECT_EQ(rendering.Text("PrometheusRule", "metadata/labels/release"), "p");
  EXPECT_EQ(rendering.Text("DaemonSet", "metadata/namespace"), "gpu");
}

TEST(ChartRules, AreMadeOnlyWhereTheClusterHasTheKind) {
  const HelmResult result = RunHelm({"template", "podgpu", ChartFolder(), "--set",
                                     "prometheusRule.enabled=true,dashboards.enabled=true"});
  EXPECT_EQ(result.exit_code, 0) << result.output;
  EXPECT_EQ(result.output.find("kind: PrometheusRule"), std::string::npos);
  EXPECT_NE(result.output.find("name: podgpu-dashboard-fleet"), std::string::npos);
}

// The job of the pods is the name of their Service, which an upgrade keeps.
TEST(ChartRules, FindTheJobOfEachRelease) {
  for (const char* const release : {"podgpu", "gpus", "dcgm-exporter", "old-dcgm-exporter"}) {
    const Rendering rendering({"--set", "prometheusRule.enabled=true"}, release);
    const std::string service = rendering.Text("Service", "metadata/name");
    const std::string expr = rendering.Text("PrometheusRule", "spec/groups/1/rules/0/expr");
    std::string job;
    ASSERT_TRUE(RE2::FullMatch(expr, "up\\{job=~\"(.*)\"\\} == 0", &job)) << expr;
    EXPECT_TRUE(RE2::FullMatch(service, job)) << service;
    EXPECT_TRUE(RE2::FullMatch("gpu/" + service, job)) << service;
    EXPECT_FALSE(RE2::FullMatch(service + "-cluster", job)) << service;
  }
}

TEST(ChartDashboards, AreThoseOfTheFiles) {
  for (const std::string names : {"native", "dcgm", "both"}) {
    std::map<std::string, std::string> expected;
    for (const auto& [name, text] : Dashboards()) {
      const bool is_dcgm = name.ends_with("-dcgm.json");
      if (names == "both" || is_dcgm == (names == "dcgm")) {
        expected["podgpu-" + name] = text;
      }
    }
    EXPECT_GT(expected.size(), 5U);
    EXPECT_EQ(RenderedDashboards(
                  Rendering({"--set", "dashboards.enabled=true,dashboards.names=" + names})),
              expected);
  }
}

TEST(ChartDashboards, FitIntoAConfigMap) {
  for (const auto& [name, text] : RenderedDashboards(Rendering::OfSet("everything"))) {
    EXPECT_LT(text.size(), kMostBytes) << name;
  }
}

TEST(ChartDashboards, GoWhereTheValuesSay) {
  const Rendering rendering(
      {"--set",
       "dashboards.enabled=true,dashboards.namespace=grafana,dashboards.label=board,"
       "dashboards.folder=GPU nodes,dashboards.folderAnnotation=folder"});
  const YAML::Node map = rendering.Object("ConfigMap podgpu-dashboard-idle");
  EXPECT_EQ(TextAt(map, "metadata/namespace"), "grafana");
  EXPECT_EQ(TextAt(map, "metadata/labels/board"), "1");
  EXPECT_EQ(TextAt(map, "metadata/annotations"), "{folder: GPU nodes}");
  const YAML::Node plain =
      Rendering({"--set", "dashboards.enabled=true"}).Object("ConfigMap podgpu-dashboard-idle");
  EXPECT_EQ(TextAt(plain, "metadata/labels/grafana_dashboard"), "1");
  EXPECT_EQ(TextAt(plain, "metadata/annotations"), "");
}

}  // namespace
}  // namespace podgpu
