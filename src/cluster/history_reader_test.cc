// Histories from a Prometheus: answers, failures, and how seldom it is asked.
#include "cluster/history_reader.h"

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "base/worker.h"
#include "http/listen.h"
#include "http/testing/raw_server.h"
#include "http/testing/test_server.h"

namespace podgpu {
namespace {

using std::chrono::seconds;

constexpr int64_t kNow = 1'700'000'123;
constexpr int64_t kEnd = 1'700'000'100;  // The last step of 300 s.

// A Prometheus whose answer a test may change, on any thread.
class RangeServer {
 public:
  RangeServer() {
    server_ = StartServer(LoopbackOptions(), [this](const HttpRequest& request) {
      ++asked_;
      if (request.method != "POST" || request.path != "/base/api/v1/query_range" ||
          !request.query.empty()) {
        return TextResponse(405, "");
      }
      const auto body = body_.Get();
      const int status = status_;
      return status != 200 ? TextResponse(status, "")
                           : TextResponse(200, *body, "application/json");
    });
  }
  void Answer(std::string body, int status = 200) {
    body_.Set(std::make_shared<const std::string>(std::move(body)));
    status_ = status;
  }
  void AnswerValues(const std::string& pairs) {
    Answer(
        R"({"status":"success","data":{"resultType":"matrix","result":[{"metric":{},"values":[)" +
        pairs + "]}]}}");
  }
  int asked() const { return asked_; }
  PrometheusClientOptions options() const {
    PrometheusClientOptions options;
    options.url =
        ParsePrometheusUrl("http://127.0.0.1:" + std::to_string(server_->port()) + "/base").value();
    return options;
  }

 private:
  Published<std::string> body_;
  std::atomic<int> status_ = 503;
  std::atomic<int> asked_ = 0;
  std::unique_ptr<HttpServer> server_;
};

// Real time from kNow on, and moved forward by the test; waiting takes no time.
class MovedClock final : public Clock {
 public:
  Instant Now() const override { return SystemClock().Now() + moved(); }
  // Stands still, so that no step begins by itself.
  WallTime WallNow() const override {
    return WallTime(seconds(kNow)) + std::chrono::duration_cast<seconds>(moved());
  }
  void Advance(seconds step) { moved_s_ += step.count(); }

 private:
  Duration moved() const { return seconds(moved_s_.load()); }
  bool Wait(Instant /*deadline*/, const std::stop_token& stop, Wakeup* /*wakeup*/) override {
    std::this_thread::yield();
    return !stop.stop_requested();
  }
  std::atomic<int64_t> moved_s_ = 0;
};

class HistoryReaderTest : public testing::Test {
 protected:
  HistoryReaderTest() {
    reader_ = std::make_unique<HistoryReader>(server_.options(), files_, ResolveBySystem, clock_);
    thread_.Start([this](const std::stop_token& stop) { reader_->Run(stop); }, "history");
  }
  ~HistoryReaderTest() override {
    thread_.RequestStop();
    thread_.JoinWithin(std::chrono::hours(1));
  }
  std::shared_ptr<const History> AwaitHistory(const std::string& key) {
    std::shared_ptr<const History> history;
    Await([&] {
      history = reader_->Of(key, "query of " + key);
      return history != nullptr;
    });
    return history;
  }

  RangeServer server_;
  SystemFiles files_;
  MovedClock clock_;
  std::unique_ptr<HistoryReader> reader_;
  Worker thread_;
};

TEST_F(HistoryReaderTest, HasAValueForEachFiveMinutesOfADay) {
  server_.AnswerValues("[" + std::to_string(kEnd - 600) + ",\"100.04\"],[" +
                       std::to_string(kEnd - 300) + ",\"41.6\"],[" + std::to_string(kEnd) +
                       ",\"170\"]");
  const auto history = AwaitHistory("a");
  EXPECT_EQ(history->absent, "");
  ASSERT_EQ(history->percent.size(), 289U);
  EXPECT_EQ(history->percent[286], 100);
  EXPECT_EQ(history->percent[287], 41.6);
  EXPECT_EQ(history->percent[288], std::nullopt) << "no GPU is busy for 170 %";
  const boost::json::value json = boost::json::parse(WriteHistory(*history));
  EXPECT_EQ(json.at("begin_s"), kEnd - 86'400);
  EXPECT_EQ(json.at("step_s"), 300);
  EXPECT_EQ(json.at("activity_percent").at(287), 42);
  EXPECT_TRUE(json.at("activity_percent").at(288).is_null());
  EXPECT_FALSE(json.as_object().contains("absent"));
}

// Of any length: a URL with the names of all nodes is refused by many a proxy.
TEST(HistoryReader, SendsTheQueryAsAForm) {
  const SystemFiles files;
  const Listener listener = Listen({.host = "127.0.0.1", .port = 0, .path = {}}, files).value();
  std::string request;
  std::jthread server(
      [&] { request = ServeBytes(listener.socket.get(), "HTTP/1.1 401 -\r\n\r\n"); });
  PrometheusClientOptions options;
  options.url =
      ParsePrometheusUrl("http://127.0.0.1:" + std::to_string(listener.port) + "/base").value();
  options.tenant = "team-a";
  MovedClock clock;
  HistoryReader reader(options, files, ResolveBySystem, clock);
  Worker thread;
  thread.Start([&](const std::stop_token& stop) { reader.Run(stop); }, "history");
  Await([&] { return reader.Of("a", "up{a=\"b|c\"}") != nullptr; });
  server.join();
  thread.RequestStop();
  thread.JoinWithin(std::chrono::hours(1));
  EXPECT_TRUE(request.starts_with("POST /base/api/v1/query_range HTTP/1.1\r\n")) << request;
  EXPECT_NE(request.find("\r\nX-Scope-OrgID: team-a\r\n"), request.npos) << request;
  EXPECT_NE(request.find("\r\nContent-Type: application/x-www-form-urlencoded\r\n"), request.npos)
      << request;
  EXPECT_TRUE(request.ends_with(
      "\r\n\r\nquery=up%7Ba%3D%22b%7Cc%22%7D&start=" + std::to_string(kEnd - 86'400) +
      "&end=" + std::to_string(kEnd) + "&step=300"))
      << request;
}

TEST_F(HistoryReaderTest, LogsEachReasonOfFailures) {
  testing::internal::CaptureStderr();
  AwaitHistory("a");
  AwaitHistory("b");
  clock_.Advance(seconds(60));
  server_.Answer("", 401);
  AwaitHistory("a");
  AwaitHistory("b");
  server_.AnswerValues("");
  AwaitHistory("c");
  const std::string log = testing::internal::GetCapturedStderr();
  const auto count = [&log](const std::string& part) {
    size_t found = 0;
    for (size_t at = log.find(part); at != log.npos; at = log.find(part, at + 1)) {
      ++found;
    }
    return found;
  };
  EXPECT_EQ(count("request for history to Prometheus failed"), 2U) << log;
  EXPECT_EQ(count("it answers 503"), 1U) << log;
  EXPECT_EQ(count("it answers 401"), 1U) << log;
  EXPECT_EQ(count("Prometheus answers requests for history again"), 1U) << log;
}

TEST_F(HistoryReaderTest, AsksOncePerStepForAllClients) {
  server_.AnswerValues("[" + std::to_string(kEnd) + ",\"1\"]");
  const auto first = AwaitHistory("a");
  EXPECT_EQ(AwaitHistory("a"), first);
  // The clock goes on by itself, so the next step is a minute away.
  clock_.Advance(seconds(kEnd + 300 - kNow - 60));
  EXPECT_EQ(AwaitHistory("a"), first);
  EXPECT_EQ(server_.asked(), 1);
  AwaitHistory("b");
  EXPECT_EQ(server_.asked(), 2);
  clock_.Advance(seconds(60));
  EXPECT_EQ(reader_->Known("a"), nullptr) << "the next step has begun";
  EXPECT_EQ(AwaitHistory("a")->times.begin_s, first->times.begin_s + 300);
  EXPECT_EQ(server_.asked(), 3);
  EXPECT_EQ(reader_->counts()[static_cast<size_t>(FetchResult::kOk)], 3U);
}

TEST_F(HistoryReaderTest, IsAbsentWithTheReasonForAShortTime) {
  const auto absent = AwaitHistory("a");
  EXPECT_EQ(absent->absent, "Prometheus does not answer: it answers 503 ");
  EXPECT_TRUE(absent->percent.empty());
  EXPECT_EQ(AwaitHistory("a"), absent) << "a failing server is not asked by each client";
  EXPECT_EQ(reader_->counts()[static_cast<size_t>(FetchResult::kRefused)], 1U);
  server_.Answer("<html>");
  clock_.Advance(seconds(15));
  EXPECT_NE(AwaitHistory("a")->absent.find("the answer is not a range of values"),
            std::string::npos);
  EXPECT_EQ(reader_->counts()[static_cast<size_t>(FetchResult::kNotUnderstood)], 1U);
  server_.AnswerValues("");
  clock_.Advance(seconds(15));
  EXPECT_EQ(AwaitHistory("a")->absent, "Prometheus has no values of the last 24 hours");
}

TEST_F(HistoryReaderTest, RefusesMoreRequestsThanItCanServe) {
  thread_.RequestStop();
  thread_.JoinWithin(std::chrono::hours(1));
  for (int i = 0; i < 32; ++i) {
    EXPECT_EQ(reader_->Of(std::to_string(i), "q"), nullptr);
    EXPECT_EQ(reader_->Of(std::to_string(i), "q"), nullptr) << "it waits once";
  }
  EXPECT_TRUE(reader_->IsWanted("31"));
  const auto refused = reader_->Of("32", "q");
  ASSERT_NE(refused, nullptr);
  EXPECT_EQ(refused->absent, "too many histories are requested at once; ask again later");
}

}  // namespace
}  // namespace podgpu
