// How the simulated API server parses requests and writes answers, compared with the real one.
#include "sim/kube/api_request.h"

#include <gtest/gtest.h>

namespace podgpu::sim {
namespace {

ApiRequest Asking(const std::string& target) {
  return ApiRequest("GET " + target + " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer t\r\n\r\n");
}

TEST(ApiRequest, ParsesPaths) {
  struct Row {
    std::string path, collection, name_space, name;
  };
  const Row rows[] = {
      {"/api/v1/pods", "/api/v1/pods", "", ""},
      {"/api/v1/namespaces/ml/pods", "/api/v1/pods", "ml", ""},
      {"/api/v1/namespaces/ml/pods/a", "/api/v1/pods", "ml", "a"},
      {"/apis/resource.k8s.io/v1/resourceslices/s", "/apis/resource.k8s.io/v1/resourceslices", "",
       "s"},
      {"/apis/discovery.k8s.io/v1/namespaces/gpu/endpointslices",
       "/apis/discovery.k8s.io/v1/endpointslices", "gpu", ""},
      {"/apis/resource.k8s.io", "/apis/resource.k8s.io", "", ""},
      {"/", "/", "", ""},
  };
  for (const Row& row : rows) {
    const ApiPath taken = TakeApartApiPath(row.path);
    EXPECT_EQ(taken.collection, row.collection) << row.path;
    EXPECT_EQ(taken.name_space, row.name_space) << row.path;
    EXPECT_EQ(taken.name, row.name) << row.path;
  }
}

TEST(ApiRequest, SelectsLikeTheRealServer) {
  const ApiStored pod =
      MakeApiStored(R"("namespace":"ml","name":"a","labels":{"app":"podgpu","tier":"b","x/y":""})",
                    R"(,"spec":{"nodeName":"n1"},"status":{"phase":"Running"})");
  struct Row {
    std::string query;
    bool selects;
  };
  const Row rows[] = {
      {"", true},
      {"labelSelector=app%3Dpodgpu", true},
      {"labelSelector=app%3D%3Dpodgpu%2Ctier%3Db", true},
      {"labelSelector=app%3Dpodgpu%2Ctier%3Da", false},
      {"labelSelector=app%21%3Dother%2Cnone%21%3Dx", true},
      {"labelSelector=app%21%3Dpodgpu", false},
      {"labelSelector=tier+in+%28a%2Cb%29%2Capp", true},
      {"labelSelector=tier+notin+%28a%2Cb%29", false},
      {"labelSelector=none+notin+%28a%29", true},
      {"labelSelector=x%2Fy", true},
      {"labelSelector=%21none", true},
      {"labelSelector=%21app", false},
      {"labelSelector=none", false},
      {"fieldSelector=spec.nodeName%3Dn1", true},
      {"fieldSelector=spec.nodeName%3Dn2", false},
      {"fieldSelector=metadata.name%3Da%2Cstatus.phase%21%3DFailed", true},
      {"fieldSelector=status.phase%21%3DRunning", false},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(Asking("/api/v1/pods?" + row.query).Selects("ml/a", pod), row.selects) << row.query;
  }
  EXPECT_TRUE(Asking("/api/v1/namespaces/ml/pods").Selects("ml/a", pod));
  EXPECT_FALSE(Asking("/api/v1/namespaces/other/pods").Selects("ml/a", pod));
}

TEST(ApiRequest, RefusesInTheRealServersWords) {
  EXPECT_EQ(ForbiddenSentence(Asking("/api/v1/pods?fieldSelector=x")),
            "pods is forbidden: User \"system:serviceaccount:gpu:podgpu\" cannot list resource "
            "\"pods\" in API group \"\" at the cluster scope");
  EXPECT_EQ(ForbiddenSentence(
                Asking("/apis/discovery.k8s.io/v1/namespaces/gpu/endpointslices?watch=true")),
            "endpointslices is forbidden: User \"system:serviceaccount:gpu:podgpu\" cannot watch "
            "resource \"endpointslices\" in API group \"discovery.k8s.io\" in the namespace "
            "\"gpu\"");
}

TEST(ApiRequest, AGrantAllowsWhatARuleOfARoleAllows) {
  const ApiGrant everywhere = {"", "", "pods", "list"};
  const ApiGrant in_ml = {"ml", "", "pods", "watch"};
  const ApiGrant slices = {"", "resource.k8s.io", "resourceslices", "list"};
  const ApiGrant one_get = {"gpu", "", "configmaps", "get", {"counters"}};
  const ApiGrant one_watch = {"gpu", "", "configmaps", "watch", {"counters"}};
  const std::string maps = "/api/v1/namespaces/gpu/configmaps";
  struct Row {
    const ApiGrant& grant;
    std::string target;
    bool is_allowed;
  };
  const Row rows[] = {
      {everywhere, "/api/v1/pods?limit=500", true},
      {everywhere, "/api/v1/namespaces/ml/pods", true},
      {everywhere, "/api/v1/pods?watch=1", false},
      {everywhere, "/api/v1/namespaces/ml/pods/a", false},
      {everywhere, "/api/v1/configmaps", false},
      {everywhere, "/apis/resource.k8s.io/v1/pods", false},
      {in_ml, "/api/v1/namespaces/ml/pods?watch=true", true},
      {in_ml, "/api/v1/namespaces/gpu/pods?watch=true", false},
      {in_ml, "/api/v1/pods?watch=true", false},
      {slices, "/apis/resource.k8s.io/v1beta1/resourceslices", true},
      {one_get, maps + "/counters", true},
      {one_get, maps + "/other", false},
      {one_get, maps, false},
      {one_watch, maps + "?watch=1&fieldSelector=metadata.name%3Dcounters", true},
      {one_watch, maps + "?watch=1&fieldSelector=metadata.name%3Dother", false},
      {one_watch, maps + "?watch=1", false},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(Allows(row.grant, Asking(row.target)), row.is_allowed) << row.target;
  }
}

TEST(ApiRequest, WritesKindsWhereTheRealServerDoes) {
  const ApiStored pod = MakeApiStored(R"("name":"a")", R"(,"spec":{})");
  const ApiRequest whole = Asking("/api/v1/pods");
  EXPECT_EQ(whole.TextOf(pod, true),
            R"({"metadata":{"name":"a","resourceVersion":"0"},"spec":{}})");
  EXPECT_EQ(whole.TextOf(pod, false),
            R"({"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","resourceVersion":"0"},)"
            R"("spec":{}})");
  EXPECT_EQ(whole.ListText("", "7", "7/ml/a"),
            R"({"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7",)"
            R"("continue":"7/ml/a"},"items":[]})");
  ApiRequest slim = Asking("/api/v1/pods");
  slim.metadata_alone = true;
  EXPECT_EQ(slim.TextOf(pod, true),
            R"({"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1",)"
            R"("metadata":{"name":"a","resourceVersion":"0"}})");
}

}  // namespace
}  // namespace podgpu::sim
