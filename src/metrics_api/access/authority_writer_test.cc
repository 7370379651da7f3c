// The self-made certificate and its way into the APIService objects, with a fake API server.
#include "metrics_api/access/authority_writer.h"

#include <gtest/gtest.h>

#include "base/testing/manual_clock.h"
#include "http/certificates.h"
#include "http/testing/web_config_files.h"
#include "metrics_api/access/ca_bundle.h"
#include "metrics_api/testing/fake_control_plane.h"

namespace podgpu {
namespace {

const std::string kExternal(kApiServices[0]);
const std::string kCustom(kApiServices[1]);
const MetricsService kService{"podgpu", "gpu"};
constexpr int64_t kStartS = 1'700'000'000;

std::string PairAuthority(int64_t now_s) { return MakeServingPair(kService, now_s)->authority; }

size_t CountCertificates(const std::string& pem) {
  return pem.empty() ? 0 : ReadCertificates(pem)->size();
}

TEST(ServingPair, IsForTheServiceAndSignedByItsAuthority) {
  const ServingPair pair = MakeServingPair(kService, kStartS).value();
  const std::vector<Certificate> serving = ReadCertificates(pair.certificate).value();
  EXPECT_EQ(AlternativeNames(*serving.front()),
            (std::vector<std::string>{"podgpu.gpu.svc", "podgpu.gpu",
                                      "podgpu.gpu.svc.cluster.local", "podgpu"}));
  EXPECT_EQ(ExpiresAt(*serving.front()), kStartS + kServingLifeS);
  EXPECT_TRUE(ReadPrivateKey(pair.key).ok());
  EXPECT_NE(PairAuthority(kStartS), pair.authority) << "each replica has its own";
}

TEST(MetricsServiceName, HasANameAndANamespace) {
  EXPECT_EQ(ParseMetricsService("podgpu.gpu").value(), kService);
  for (const char* const text : {"podgpu", "podgpu.", ".gpu", "a.b.c", "A.b", "a/x.b", ""}) {
    EXPECT_FALSE(ParseMetricsService(text).ok()) << text;
  }
}

TEST(CaBundle, KeepsValidAuthoritiesAndDropsExpiredOnes) {
  const std::string old = PairAuthority(kStartS);
  const std::string other = PairAuthority(kStartS + kServingLifeS / 2);
  const std::string own = PairAuthority(kStartS + kServingLifeS);
  const std::string both = MergeAuthorities(old + "no PEM\n" + other, {own}, kStartS + 1).value();
  EXPECT_EQ(CountCertificates(both), 3U);
  EXPECT_EQ(MergeAuthorities(both, {own}, kStartS + 1).value(), both) << "nothing to change";
  const std::string later = MergeAuthorities(both, {own}, kStartS + kServingLifeS + 1).value();
  EXPECT_EQ(later, other + own);
  EXPECT_FALSE(MergeAuthorities("", {"no certificate"}, kStartS).ok());
}

TEST(CaBundle, KeepsAtMostEightAndItsOwn) {
  std::string bundle;
  std::vector<std::string> all;
  for (int64_t i = 0; i < 10; ++i) {
    all.push_back(PairAuthority(kStartS + i));
    bundle = MergeAuthorities(bundle, {all.back()}, kStartS).value();
    EXPECT_EQ(CountCertificates(bundle), std::min<size_t>(static_cast<size_t>(i) + 1, 8));
  }
  EXPECT_EQ(bundle.find(all[0]), std::string::npos) << "it expires first";
  EXPECT_EQ(bundle.find(all[1]), std::string::npos);
  EXPECT_NE(bundle.find(all[2]), std::string::npos);
  // The own one stays although it expires first.
  EXPECT_NE(MergeAuthorities(bundle, {all[0]}, kStartS)->find(all[0]), std::string::npos);
}

class AuthorityWriterTest : public testing::Test {
 protected:
  AuthorityWriterTest() {
    for (const std::string& name : {kExternal, kCustom}) {
      plane_.SetApiService(name, {"podgpu", "gpu", "", false, 1});
    }
  }
  std::unique_ptr<AuthorityWriter> Writer() {
    return std::make_unique<AuthorityWriter>(kService, plane_.Options(files_.path("")),
                                             MakeServingPair(kService, kStartS).value(),
                                             system_files_, clock_);
  }
  size_t AuthoritiesOf(const std::string& name) const {
    const auto read = ReadApiService(R"({"kind":"APIService","spec":{"caBundle":")" +
                                     plane_.ApiService(name).ca_bundle + "\"}}");
    return CountCertificates(read->authorities);
  }

  const WebConfigFiles files_;
  const SystemFiles system_files_;
  ManualClock clock_{WallTime(std::chrono::seconds(kStartS))};
  FakeControlPlane plane_;
  std::stop_source stop_;
};

TEST_F(AuthorityWriterTest, AddsTheAuthorityOfEachReplicaOnce) {
  const auto one = Writer();
  const auto two = Writer();
  for (int i = 0; i < 2; ++i) {
    one->CheckOnce(stop_.get_token());
    two->CheckOnce(stop_.get_token());
  }
  EXPECT_TRUE(one->facts().Get()->is_trusted());
  for (const std::string& name : {kExternal, kCustom}) {
    EXPECT_EQ(AuthoritiesOf(name), 2U);
    EXPECT_EQ(plane_.Count("PATCH /apis/apiregistration.k8s.io/v1/apiservices/" + name), 2U);
  }
}

TEST_F(AuthorityWriterTest, ReadsTheObjectAgainAfterAConflict) {
  plane_.Conflict(3);
  const auto writer = Writer();
  writer->CheckOnce(stop_.get_token());
  EXPECT_TRUE(writer->facts().Get()->is_trusted());
  plane_.Conflict(100);
  const auto unlucky = Writer();
  unlucky->CheckOnce(stop_.get_token());
  EXPECT_EQ(unlucky->facts().Get()->states[0], ApiServiceState::kFailed);
  EXPECT_NE(unlucky->facts().Get()->details[0].find("changed during each of 5 attempts"),
            std::string::npos);
}

TEST_F(AuthorityWriterTest, LeavesTheObjectsOfOthersAlone) {
  struct Row {
    const char* what;
    FakeApiService object;
    ApiServiceState state;
    const char* says;
  };
  const Row rows[] = {
      {"another Service",
       {"keda", "keda", "", false, 1},
       ApiServiceState::kForeign,
       "belongs to the Service keda.keda"},
      {"the API server itself",
       {"", "", "", false, 1},
       ApiServiceState::kForeign,
       "belongs to no Service"},
      {"no verification",
       {"podgpu", "gpu", "", true, 1},
       ApiServiceState::kUnverified,
       "has insecureSkipTLSVerify"},
  };
  for (const Row& row : rows) {
    plane_.SetApiService(kExternal, row.object);
    const auto writer = Writer();
    writer->CheckOnce(stop_.get_token());
    const AuthorityFacts facts = *writer->facts().Get();
    EXPECT_EQ(facts.states[0], row.state) << row.what;
    EXPECT_NE(facts.details[0].find(row.says), std::string::npos) << facts.details[0];
    EXPECT_EQ(facts.states[1], ApiServiceState::kOurs);
    EXPECT_TRUE(facts.is_trusted()) << row.what;
  }
  EXPECT_EQ(plane_.Count("PATCH /apis/apiregistration.k8s.io/v1/apiservices/" + kExternal), 0U);
}

TEST_F(AuthorityWriterTest, SaysThatAnObjectIsMissingOrForbidden) {
  plane_.SetForbidden(true);
  const auto writer = Writer();
  writer->CheckOnce(stop_.get_token());
  EXPECT_EQ(writer->facts().Get()->states[0], ApiServiceState::kFailed);
  EXPECT_NE(
      writer->facts().Get()->details[0].find("Grant get and patch of apiservices by a ClusterRole"),
      std::string::npos);
  EXPECT_FALSE(writer->facts().Get()->is_trusted());
  const FakeControlPlane empty;
  AuthorityWriter other(kService, empty.Options(files_.path("")),
                        MakeServingPair(kService, kStartS).value(), system_files_, clock_);
  other.CheckOnce(stop_.get_token());
  EXPECT_EQ(other.facts().Get()->states[0], ApiServiceState::kMissing);
  EXPECT_NE(other.facts().Get()->details[0].find("create it"), std::string::npos);
}

TEST_F(AuthorityWriterTest, StaysTrustedWhileTheApiServerIsAway) {
  const auto writer = Writer();
  writer->CheckOnce(stop_.get_token());
  plane_.SetDown(true);
  for (int i = 0; i < 2; ++i) {
    writer->CheckOnce(stop_.get_token());
    EXPECT_EQ(writer->facts().Get()->states[0], ApiServiceState::kFailed);
    EXPECT_TRUE(writer->facts().Get()->was_trusted);
  }
  plane_.SetDown(false);
  plane_.SetApiService(kExternal, {"keda", "keda", "", false, 1});
  plane_.SetApiService(kCustom, {"keda", "keda", "", false, 1});
  writer->CheckOnce(stop_.get_token());
  EXPECT_FALSE(writer->facts().Get()->was_trusted || writer->facts().Get()->is_trusted());
}

TEST_F(AuthorityWriterTest, RenewsTheCertificateAndUsesItOnlyWhenItsAuthorityIsWritten) {
  const auto writer = Writer();
  writer->CheckOnce(stop_.get_token());
  const std::shared_ptr<const ServingPair> first = writer->pair().Get();
  clock_.Advance(std::chrono::seconds(kServingLifeS / 3 * 2 + 1));
  plane_.SetForbidden(true);
  writer->CheckOnce(stop_.get_token());
  EXPECT_EQ(writer->pair().Get(), first) << "the aggregator would not trust the next one";
  plane_.SetForbidden(false);
  writer->CheckOnce(stop_.get_token());
  EXPECT_NE(writer->pair().Get(), first);
  EXPECT_EQ(AuthoritiesOf(kExternal), 2U) << "both, while connections change over";
  const std::shared_ptr<const ServingPair> second = writer->pair().Get();
  // Without the right to write, the next one is used shortly before the old one expires.
  plane_.SetForbidden(true);
  clock_.Advance(std::chrono::seconds(kServingLifeS / 6 * 5 + 1));
  writer->CheckOnce(stop_.get_token());
  EXPECT_NE(writer->pair().Get(), second);
  EXPECT_GT(writer->pair().Get()->expires_s, ToMicroseconds(clock_.WallNow()) / 1'000'000);
}

}  // namespace
}  // namespace podgpu
