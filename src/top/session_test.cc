// What `podgpu top` asks, and what it shows of the answers, on a clock that the test moves.
#include "top/session.h"

#include <gtest/gtest.h>

#include "base/testing/manual_clock.h"
#include "top/testing/drawn_node.h"

namespace podgpu {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Size kWindow{80, 24};

HttpAnswer JsonAnswer(std::string body) {
  HttpAnswer answer;
  answer.status = 200;
  answer.etag = "\"1\"";
  answer.exact_age = milliseconds(400);
  answer.body = std::move(body);
  return answer;
}

class SessionOfANode : public ::testing::Test {
 protected:
  explicit SessionOfANode(const TopOptions& options = NodeOptions()) : session_(options, clock_) {}

  static TopOptions NodeOptions() {
    TopOptions options;
    options.url = "http://localhost:9400";
    return options;
  }

  // The next request must be for `path`.
  void Answer(const std::string& path, StatusOr<HttpAnswer> answer) {
    const auto question = session_.NextQuestion(kWindow);
    ASSERT_TRUE(question.has_value()) << path;
    EXPECT_EQ(question->path, path);
    session_.TakeAnswer(*question, std::move(answer));
  }
  void AnswerStatus() { Answer("/api/v1/status", JsonAnswer(WriteNodeStatus(DrawnNode()))); }

  std::string Frame() { return session_.Draw(kWindow).Text(); }
  bool Shows(std::string_view part) { return Frame().find(part) != std::string::npos; }
  void Press(char letter) { session_.Press({Key::kText, letter}, kWindow); }

  ManualClock clock_;
  TopSession session_;
};

TEST_F(SessionOfANode, Statement12PastTheLimitNoOldValueIsShownAndTheReturnIsLiveWithin5Seconds) {
  AnswerStatus();
  EXPECT_TRUE(Shows("652/700"));
  for (int second = 1; second <= 9; ++second) {
    clock_.Advance(seconds(1));
    if (const auto question = session_.NextQuestion(kWindow)) {
      session_.TakeAnswer(*question, absl::UnavailableError("connection refused"));
    }
    EXPECT_TRUE(Shows("652/700")) << second;
    EXPECT_EQ(session_.Draw(kWindow).at(3, 0).ink, Ink::kDim) << second;
  }
  EXPECT_TRUE(Shows("no answer for 9 s (connection refused), next try in"));
  clock_.Advance(seconds(1));
  for (const char* const old : {"652", "67.2", " 2h14m", "14.2 kWh"}) {
    EXPECT_FALSE(Shows(old)) << Frame();
  }
  EXPECT_TRUE(Shows("research/llama-train-0")) << "The identity stays.";
  clock_.Advance(seconds(5));
  AnswerStatus();
  EXPECT_TRUE(Shows("652/700"));
}

// A request that hangs is no failure yet, but the values on the screen become older.
TEST_F(SessionOfANode, AnAnswerThatIsLateCountsAsWell) {
  AnswerStatus();
  clock_.Advance(seconds(1));
  ASSERT_TRUE(session_.NextQuestion(kWindow).has_value());
  clock_.Advance(seconds(9));
  EXPECT_FALSE(Shows("652/700"));
  EXPECT_FALSE(session_.NextQuestion(kWindow).has_value()) << "One request at a time.";
}

TEST_F(SessionOfANode, AFailedExplanationStaysInItsPane) {
  AnswerStatus();
  Press('4');
  Answer("/api/v1/explain?gpu=3", absl::FailedPreconditionError("it answers 500: no answer"));
  EXPECT_TRUE(Shows(" no explanation: it answers 500: no answer\n")) << Frame();
  EXPECT_TRUE(Shows("652/700"));
  EXPECT_FALSE(Shows("next try"));
  for (int tick = 0; tick < 5; ++tick) {
    clock_.Advance(seconds(1));
    AnswerStatus();
  }
  clock_.Advance(seconds(1));
  Answer("/api/v1/explain?gpu=3", absl::UnavailableError("connection refused"));
  EXPECT_TRUE(Shows("(connection refused), next try in 1 s"));
  EXPECT_EQ(session_.NextWake(), clock_.Now() + seconds(1));
}

// With + the node is asked each 10 s; the key - asks it at once, and takes no value away.
TEST_F(SessionOfANode, AShorterIntervalAsksAtOnce) {
  AnswerStatus();
  for (int i = 0; i < 4; ++i) {
    Press('+');
  }
  AnswerStatus();
  clock_.Advance(seconds(9));
  EXPECT_TRUE(Shows("652/700"));
  Press('-');
  EXPECT_TRUE(Shows("652/700"));
  AnswerStatus();
  EXPECT_TRUE(Shows(" 5s\n")) << Frame();
}

TEST_F(SessionOfANode, APausedFrameGetsTheProcessesAndTheExplanationThatItLacks) {
  NodeStatus without_processes = DrawnNode();
  without_processes.processes.clear();
  Answer("/api/v1/status", JsonAnswer(WriteNodeStatus(without_processes)));
  Press('p');
  Press('2');
  EXPECT_TRUE(Shows(" waiting for the processes\n"));
  Answer("/api/v1/status?processes=1", JsonAnswer(WriteNodeStatus(DrawnNode())));
  EXPECT_TRUE(Shows("python3"));
  Press('4');
  Answer("/api/v1/explain?gpu=3", JsonAnswer(R"({"devices":[],"notes":["explained"]})"));
  EXPECT_TRUE(Shows(" explained\n")) << Frame();
  clock_.Advance(seconds(100));
  EXPECT_FALSE(session_.NextQuestion(kWindow).has_value());
}

TEST_F(SessionOfANode, AnAnswerThatTakesLongIsSaid) {
  AnswerStatus();
  clock_.Advance(seconds(1));
  ASSERT_TRUE(session_.NextQuestion(kWindow).has_value());
  clock_.Advance(seconds(2));
  EXPECT_TRUE(Shows("no answer for 3 s (it takes long), trying now\n")) << Frame();
}

TEST_F(SessionOfANode, APausedFrameStandsButALostNodeIsTriedAgain) {
  AnswerStatus();
  Press('p');
  clock_.Advance(seconds(100));
  EXPECT_FALSE(session_.NextQuestion(kWindow).has_value());
  EXPECT_TRUE(Shows("652/700"));
  EXPECT_TRUE(Shows("14:03:22 paused"));
  Press('p');
  Answer("/api/v1/status", absl::UnavailableError("connection refused"));
  Press('p');
  clock_.Advance(seconds(1));
  EXPECT_TRUE(session_.NextQuestion(kWindow).has_value());
}

TEST_F(SessionOfANode, AnAnswerOfAnotherReleaseSaysWhatToDo) {
  std::string json = WriteNodeStatus(DrawnNode());
  json.replace(json.find("\"self\""), 6, "\"ours\"");
  Answer("/api/v1/status", JsonAnswer(json));
  EXPECT_TRUE(Shows("no status for 0 s (podgpu top 0.1.0 cannot")) << Frame();
  EXPECT_TRUE(Shows("\"self\" is missing; use the same release on both sides)")) << Frame();
}

TEST_F(SessionOfANode, AnUnchangedStatusIsAskedByItsTag) {
  AnswerStatus();
  clock_.Advance(seconds(1));
  const auto question = session_.NextQuestion(kWindow);
  ASSERT_TRUE(question.has_value());
  EXPECT_EQ(question->etag, "\"1\"");
  HttpAnswer unchanged;
  unchanged.status = 304;
  session_.TakeAnswer(*question, unchanged);
  EXPECT_TRUE(Shows("14:03:23 1s")) << Frame();
}

class SessionOfAFleet : public SessionOfANode {
 protected:
  SessionOfAFleet() : SessionOfANode(FleetOptions()) {}
  static TopOptions FleetOptions() {
    TopOptions options;
    options.url = "http://podgpu:9401";
    options.is_fleet = true;
    return options;
  }
  static constexpr char kFleet[] = R"({"schema":1,"epoch":"0a","version":"0.1.0","ready":true,
"verdict":"ok","namespaces":[],"pods":[],"states":[],"nodes":{"node":["n1"],"address":["a:1"],
"state":["ok"],"detail":[""],"read_at_s":[1],"owners_known":[true],"devices":[0]},
"devices":{"gpu":[],"state":[],"activity_percent":[],"memory_used_mib":[],"memory_total_mib":[],
"pods":[],"hidden_owners":[],"idle_since_s":[]}})";
};

TEST_F(SessionOfAFleet, AsksWhatHasChangedAndForgetsItAfterAMinute) {
  Answer("/api/v1/fleet", JsonAnswer(kFleet));
  EXPECT_TRUE(Shows("1 nodes: 1 ok"));
  clock_.Advance(seconds(1));
  Answer("/api/v1/fleet?epoch=0a", absl::UnavailableError("connection refused"));
  EXPECT_TRUE(Shows("podgpu top http://podgpu:9401  no answer for 1 s"));
  clock_.Advance(seconds(60));
  Frame();
  Answer("/api/v1/fleet", JsonAnswer(kFleet));
  EXPECT_TRUE(Shows("1 nodes: 1 ok"));
}

}  // namespace
}  // namespace podgpu
