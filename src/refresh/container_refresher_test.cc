// The containers of a runtime, from a server that speaks Docker's API on a Unix socket.
#include "refresh/container_refresher.h"

#include <map>
#include <mutex>
#include <sys/socket.h>
#include <sys/un.h>

#include "absl/strings/str_format.h"
#include <gtest/gtest.h>

#include "base/file_descriptor.h"
#include "base/testing/fake_files.h"
#include "base/testing/manual_clock.h"
#include "base/testing/temporary_folder.h"
#include "base/worker.h"
#include "http/testing/test_server.h"

namespace podgpu {
namespace {

using std::chrono::seconds;

constexpr char kTrain[] = "aa11";
constexpr char kWeb[] = "bb22";

std::string GivenGpus(const std::string& ids) {
  return absl::StrFormat(
      R"({"HostConfig":{"DeviceRequests":[{"Driver":"nvidia","DeviceIDs":[%s]}]}})", ids);
}

// A runtime whose containers a test changes while it serves.
class FakeRuntime {
 public:
  explicit FakeRuntime(const std::string& socket) : socket_(socket) { SetUp(true); }

  // A container with the answer to a request for its details; empty: the answer is 404.
  void Run(const std::string& id, const std::string& name, const std::string& details) {
    const std::scoped_lock lock(mutex_);
    containers_[id] = {name, details};
  }
  void Remove(const std::string& id) {
    const std::scoped_lock lock(mutex_);
    containers_.erase(id);
  }
  void AnswerWith(int status) {
    const std::scoped_lock lock(mutex_);
    status_ = status;
  }
  void SetUp(bool is_up) {
    server_.reset();
    if (is_up) {
      HttpServerOptions options;
      options.address = "unix:" + socket_;
      server_ = StartServer(std::move(options),
                            [this](const HttpRequest& request) { return Answer(request.path); });
    }
  }
  size_t details_asked() const {
    const std::scoped_lock lock(mutex_);
    return details_asked_;
  }

 private:
  struct Container {
    std::string name, details;
  };

  HttpResponse Answer(std::string_view path) {
    const std::scoped_lock lock(mutex_);
    if (status_ != 200) {
      return TextResponse(status_, "no");
    }
    std::string list;
    for (const auto& [id, container] : containers_) {
      if (path == absl::StrFormat("/containers/%s/json", id)) {
        ++details_asked_;
        return TextResponse(container.details.empty() ? 404 : 200, container.details);
      }
      absl::StrAppendFormat(&list, R"(%s{"Id":"%s","Names":["/%s"]})", list.empty() ? "" : ",", id,
                            container.name);
    }
    return TextResponse(path == "/containers/json" ? 200 : 404, "[" + list + "]");
  }

  const std::string socket_;
  mutable std::mutex mutex_;  // Guards the members below; the server's thread reads them.
  std::map<std::string, Container> containers_;
  size_t details_asked_ = 0;
  int status_ = 200;
  std::unique_ptr<HttpServer> server_;
};

class ContainerRefresherTest : public ::testing::Test {
 protected:
  ContainerRefresherTest()
      : socket_(folder_.path() + "/docker.sock"),
        runtime_(socket_),
        refresher_(files_, {socket_, seconds(1)}, clock_, wakeup_) {
    runtime_.Run(kTrain, "train", GivenGpus(R"("0","1")"));
    runtime_.Run(kWeb, "web", R"({"HostConfig":{}})");
  }
  ~ContainerRefresherTest() override {
    thread_.RequestStop();
    thread_.JoinWithin(std::chrono::hours(1));
  }
  void Start() {
    thread_.Start([this](const std::stop_token& stop) { refresher_.Run(stop); });
    clock_.AwaitSleepers(1);
  }
  void Step() {
    clock_.Advance(seconds(1));
    clock_.AwaitSleepers(1);
  }
  ContainerFacts facts() const { return *refresher_.facts().Get(); }
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const RuntimeContainer& container : facts().value->containers) {
      names.push_back(container.name);
    }
    return names;
  }

  const TemporaryFolder folder_;
  const std::string socket_;
  FakeFiles files_;
  FakeRuntime runtime_;
  ManualClock clock_;
  Wakeup wakeup_;
  ContainerRefresher refresher_;
  Worker thread_;
};

using NameList = std::vector<std::string>;

TEST_F(ContainerRefresherTest, ListsTheContainersWithGpusAndAsksForDetailsOnce) {
  Start();
  EXPECT_EQ(facts().state, PartState::kOk);
  EXPECT_EQ(facts().detail, socket_ + " lists 2 running containers, 1 with GPUs");
  EXPECT_EQ(facts().value->containers,
            (std::vector<RuntimeContainer>{{kTrain, "train", {"0", "1"}}}));
  const auto first = facts().value;
  Step();
  EXPECT_EQ(runtime_.details_asked(), 2U);
  EXPECT_EQ(facts().value, first) << "the same containers are the same object";
  runtime_.Run("cc33", "more", GivenGpus(R"("2")"));
  runtime_.Remove(kWeb);
  runtime_.Run(kTrain, "renamed", "not asked for again");
  Step();
  EXPECT_EQ(Names(), (NameList{"more", "renamed"}));
  EXPECT_EQ(runtime_.details_asked(), 3U);
  runtime_.Remove(kTrain);
  Step();
  EXPECT_EQ(Names(), NameList{"more"});
}

TEST_F(ContainerRefresherTest, ReadsManyContainersInOneRound) {
  for (int i = 0; i < 100; ++i) {
    runtime_.Run(absl::StrFormat("dd%02d", i), absl::StrFormat("c%02d", i), GivenGpus(R"("3")"));
  }
  Start();
  EXPECT_EQ(facts().detail, socket_ + " lists 102 running containers, 101 with GPUs");
}

TEST_F(ContainerRefresherTest, LeavesOutItsOwnContainerAlsoWhenItIsListedLate) {
  files_.files.emplace("/proc/self/mountinfo",
                       "1 2 0:5 /var/lib/docker/containers/cc33/hostname /etc/hostname rw\n");
  Start();
  EXPECT_EQ(Names(), NameList{"train"});
  runtime_.Run("cc33", "podgpu", GivenGpus(R"("0")"));
  Step();
  EXPECT_EQ(Names(), NameList{"train"});
}

TEST_F(ContainerRefresherTest, AContainerThatCannotBeReadIsNamedAndAskedForAgainAfterAMinute) {
  runtime_.Run(kWeb, "web", "{}");
  Start();
  EXPECT_EQ(facts().state, PartState::kDegraded);
  EXPECT_EQ(facts().detail, socket_ +
                                " lists 2 running containers, 1 with GPUs; the details of 1 "
                                "are not known, the first: web: the answer has no HostConfig");
  EXPECT_EQ(facts().failures, 1U);
  EXPECT_EQ(Names(), NameList{"train"}) << "the others are not lost";
  runtime_.Run(kWeb, "web", GivenGpus(R"("2")"));
  Step();
  EXPECT_EQ(facts().state, PartState::kDegraded) << "not asked for at each round";
  clock_.Advance(seconds(60));
  clock_.AwaitSleepers(1);
  EXPECT_EQ(facts().state, PartState::kOk);
  EXPECT_EQ(Names(), (NameList{"train", "web"}));
  EXPECT_EQ(facts().failures, 1U);
}

TEST_F(ContainerRefresherTest, OnlyAContainerThatTheNextListStillHasLacksItsDetails) {
  runtime_.Run("cc33", "ended", "");
  Start();
  EXPECT_EQ(facts().state, PartState::kOk);
  Step();
  EXPECT_EQ(facts().detail, socket_ +
                                " lists 3 running containers, 1 with GPUs; the details of 1 "
                                "are not known, the first: ended: it answers 404");
}

TEST_F(ContainerRefresherTest, KeepsTheLastListWithItsAgeWhileTheRuntimeIsDown) {
  runtime_.Run(kWeb, "web", "{}");
  Start();
  const ContainerFacts before = facts();
  EXPECT_EQ(before.state, PartState::kDegraded);
  runtime_.SetUp(false);
  Step();
  EXPECT_EQ(facts().state, PartState::kDegraded);
  EXPECT_FALSE(facts().HasStateOf(before)) << "each cause has its log line";
  EXPECT_EQ(facts().failures, 2U);
  EXPECT_EQ(facts().good_at, before.good_at);
  EXPECT_EQ(Names(), NameList{"train"});
  EXPECT_TRUE(facts().detail.starts_with(socket_ + ": connecting: ")) << facts().detail;
  EXPECT_TRUE(facts().detail.ends_with("or correct --container-runtime-socket")) << facts().detail;
  runtime_.SetUp(true);
  Step();
  EXPECT_EQ(facts().cause, absl::StatusCode::kOk);
  EXPECT_EQ(facts().failures, 2U);
}

TEST_F(ContainerRefresherTest, WaitsForARuntimeThatHasNeverAnswered) {
  runtime_.AnswerWith(403);
  Start();
  EXPECT_EQ(facts().state, PartState::kWaiting);
  EXPECT_EQ(facts().value, nullptr);
  EXPECT_NE(facts().detail.find("it answers 403; a proxy in front of the runtime must allow GET "
                                "/containers/json and /containers/ID/json"),
            std::string::npos)
      << facts().detail;
  runtime_.AnswerWith(500);
  Step();
  EXPECT_NE(facts().detail.find("it answers 500"), std::string::npos) << facts().detail;
  runtime_.AnswerWith(200);
  Step();
  EXPECT_EQ(facts().state, PartState::kOk);
}

// A runtime that accepts a connection and then says nothing.
class SilentRuntime {
 public:
  explicit SilentRuntime(const std::string& socket) : file_(ListenAt(socket)) {}

 private:
  static FileDescriptor ListenAt(const std::string& path) {
    FileDescriptor file(::socket(AF_UNIX, SOCK_STREAM, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(static_cast<char*>(address.sun_path), sizeof address.sun_path - 1);
    EXPECT_EQ(::bind(file.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(file.get(), 8), 0);
    return file;
  }
  FileDescriptor file_;
};

TEST(ContainerRefresherOfASilentRuntime, GivesUpAfterTheLimitOfAnAnswer) {
  const TemporaryFolder folder;
  const std::string socket = folder.path() + "/docker.sock";
  const SilentRuntime runtime(socket);
  FakeFiles files;
  ManualClock clock;
  Wakeup wakeup;
  ContainerRefresher refresher(
      files, {.socket = socket, .answer_limit = std::chrono::milliseconds(20)}, clock, wakeup);
  Worker thread;
  thread.Start([&](const std::stop_token& stop) { refresher.Run(stop); });
  clock.AwaitSleepers(1);
  EXPECT_NE(refresher.facts().Get()->detail.find("no answer in time"), std::string::npos)
      << refresher.facts().Get()->detail;
  thread.RequestStop();
  EXPECT_TRUE(thread.JoinWithin(std::chrono::hours(1)));
}

TEST(ContainerRefresherOfASilentRuntime, EndsAtOnceWhileItWaits) {
  const TemporaryFolder folder;
  const std::string socket = folder.path() + "/docker.sock";
  const SilentRuntime runtime(socket);
  FakeFiles files;
  ManualClock clock;
  Wakeup wakeup;
  // Without an interruption the thread would wait for an hour, longer than a test may run.
  ContainerRefresher refresher(files, {.socket = socket, .answer_limit = std::chrono::hours(1)},
                               clock, wakeup);
  Worker thread;
  thread.Start([&](const std::stop_token& stop) { refresher.Run(stop); });
  thread.RequestStop();
  EXPECT_TRUE(thread.JoinWithin(std::chrono::minutes(10)));
}

}  // namespace
}  // namespace podgpu
