#include "metrics_api/serving/request_path.h"

#include <gtest/gtest.h>

namespace podgpu {
namespace {

using Kind = MetricsPath::Kind;

TEST(MetricsPath, IsReadAsTheApiDefinesIt) {
  struct Row {
    const char* path;
    Kind kind;
    const char *name_space, *object, *metric;
  };
  const Row rows[] = {
      {"/healthz", Kind::kHealth, "", "", ""},
      {"/livez", Kind::kHealth, "", "", ""},
      {"/readyz", Kind::kReady, "", "", ""},
      {"/apis", Kind::kGroupList, "", "", ""},
      {"/apis/", Kind::kGroupList, "", "", ""},
      {"/apis/external.metrics.k8s.io", Kind::kGroup, "", "", ""},
      {"/apis/other.k8s.io", Kind::kNotFound, "", "", ""},
      {"/apis/custom.metrics.k8s.io/v1beta2", Kind::kResourceList, "", "", ""},
      {"/apis/custom.metrics.k8s.io/v1", Kind::kNotFound, "", "", ""},
      {"/openapi/v2", Kind::kOpenApiV2, "", "", ""},
      {"/openapi/v3", Kind::kOpenApiV3, "", "", ""},
      {"/openapi/v3/apis/external.metrics.k8s.io/v1beta1", Kind::kOpenApiV3Version, "", "", ""},
      {"/apis/external.metrics.k8s.io/v1beta1/namespaces/ml/gpu_free", Kind::kExternal, "ml", "",
       "gpu_free"},
      {"/apis/custom.metrics.k8s.io/v1beta2/namespaces/ml/pods/%2A/gpu_utilization", Kind::kPods,
       "ml", "*", "gpu_utilization"},
      {"/apis/custom.metrics.k8s.io/v1beta1/namespaces/ml/pods/a-1/gpu_utilization", Kind::kPods,
       "ml", "a-1", "gpu_utilization"},
      {"/apis/custom.metrics.k8s.io/v1beta2/namespaces/ml/services/web/x", Kind::kOtherObject, "ml",
       "web", "x"},
      {"/apis/custom.metrics.k8s.io/v1beta2/namespaces/ml/metrics/x", Kind::kOtherObject, "ml",
       "ml", "x"},
      {"/apis/custom.metrics.k8s.io/v1beta2/nodes/n1/x", Kind::kOtherObject, "", "n1", "x"},
      {"/apis/external.metrics.k8s.io/v1beta1/namespaces/ml/pods/a/b", Kind::kNotFound, "ml", "",
       ""},
      {"/apis/external.metrics.k8s.io/v1beta1/namespaces/%2e%2e%2f/gpu_free", Kind::kNotFound, "",
       "", ""},
      {"/apis//v1beta1", Kind::kNotFound, "", "", ""},
      {"apis", Kind::kNotFound, "", "", ""},
      {"", Kind::kNotFound, "", "", ""},
      {"/", Kind::kNotFound, "", "", ""},
      {"/metrics", Kind::kNotFound, "", "", ""},
  };
  for (const Row& row : rows) {
    const MetricsPath path = ReadMetricsPath(row.path);
    EXPECT_EQ(path.kind, row.kind) << row.path;
    EXPECT_EQ(path.name_space, row.name_space) << row.path;
    EXPECT_EQ(path.object, row.object) << row.path;
    EXPECT_EQ(path.metric, row.metric) << row.path;
  }
}

TEST(MetricsPath, KnowsTheVersionOfItsGroup) {
  EXPECT_EQ(ReadMetricsPath("/apis/custom.metrics.k8s.io").version, MetricsVersion::kCustomV1beta2);
  EXPECT_EQ(ReadMetricsPath("/apis/custom.metrics.k8s.io/v1beta1").version,
            MetricsVersion::kCustomV1beta1);
  for (size_t i = 0; i < MetricsVersions().size(); ++i) {
    EXPECT_EQ(static_cast<size_t>(MetricsVersions()[i].version), i);
  }
}

TEST(MetricsQuery, TakesBothSelectorsDecoded) {
  const MetricsQuery query = ReadMetricsQuery(
      "labelSelector=app%3Dllm%2Ctier+in+(a)&x=1&metricLabelSelector=model%21%3DA&limit");
  EXPECT_EQ(query.label_selector, "app=llm,tier in (a)");
  EXPECT_EQ(query.metric_label_selector, "model!=A");
  EXPECT_EQ(ReadMetricsQuery("").label_selector, "");
}

}  // namespace
}  // namespace podgpu
