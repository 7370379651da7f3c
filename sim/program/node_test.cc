// How a running node treats its servers: where the engine listens, how it restarts, and how engine
// and kubelet follow faults.
#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <netinet/in.h>
#include <optional>
#include <string>
#include <sys/socket.h>
#include <vector>

#include <gtest/gtest.h>

#include "base/file_descriptor.h"
#include "sim/testing/program.h"

namespace podgpu::sim {
namespace {

TEST_F(RunningNodeTest, KillsTheEngineForAFaultAndRestartsIt) {
  EXPECT_EQ(Command({"fault", "engine_kill", "restart_after=2s", "at=1s"}).code, 0);
  EXPECT_EQ(Command({"tick", "+1s"}).code, 0);
  EXPECT_TRUE(Await([&] { return !reader_->engine_up(); })) << node_.out();
  EXPECT_EQ(Command({"tick", "+2s"}).code, 0);
  EXPECT_TRUE(Await([&] { return reader_->engine_up(); })) << node_.out();
  EXPECT_EQ(reader_->engine_generation(), 2U);
  EXPECT_NE(node_.out().find("\nengine     killed by a fault\n"), std::string::npos);
}

TEST_F(RunningNodeTest, StopsTheEngineWhileAFaultLasts) {
  const std::string stat = "/proc/" + std::to_string(EnginePid()) + "/stat";
  EXPECT_EQ(Command({"fault", "engine_hang", "at=1s", "for=2s"}).code, 0);
  EXPECT_EQ(Command({"tick", "+1s"}).code, 0);
  EXPECT_TRUE(Await([&] { return ReadAll(stat).find(") T ") != std::string::npos; }));
  EXPECT_EQ(Command({"tick", "+2s"}).code, 0);
  EXPECT_TRUE(Await([&] { return ReadAll(stat).find(") S ") != std::string::npos; }));
  EXPECT_EQ(reader_->engine_generation(), 1U) << "the engine was not restarted";
}

TEST_F(RunningNodeTest, RemovesTheKubeletsSocketForAFaultAndRestoresIt) {
  const std::string socket = run_ + "/kubelet/kubelet.sock";
  EXPECT_EQ(Command({"fault", "kubelet_down", "at=1s"}).code, 0);
  EXPECT_TRUE(IsSocket(socket)) << "the fault has not begun";
  EXPECT_EQ(Command({"tick", "+1s"}).code, 0);
  EXPECT_TRUE(Await([&] { return !IsSocket(socket); })) << node_.out();
  EXPECT_EQ(Command({"heal"}).code, 0);
  EXPECT_EQ(Command({"tick", "+1s"}).code, 0);
  EXPECT_TRUE(Await([&] { return IsSocket(socket); })) << node_.out();
  EXPECT_TRUE(Await([&] { return node_.out().ends_with("\nkubelet    well\n"); })) << node_.out();
}

// A listening port of this machine.
class TakenPort {
 public:
  TakenPort() : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    socklen_t length = sizeof(address);
    EXPECT_EQ(bind(socket_.get(), generic, length), 0);
    EXPECT_EQ(listen(socket_.get(), 1), 0);
    EXPECT_EQ(getsockname(socket_.get(), generic, &length), 0);
    port_ = ntohs(address.sin_port);
  }
  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

 private:
  FileDescriptor socket_;
  int port_ = 0;
};

// A node whose scenario sets the engine's addresses; the test starts it.
class EngineOfANodeTest : public ProgramTest {
 protected:
  void StartWith(const std::string& engine, std::vector<std::string> flags) {
    const std::string scenario =
        folder_.Write("engine.yaml", std::string(kScenario) + "dcgm: {engine: {" + engine + "}}\n");
    flags.insert(flags.begin(), {"run", scenario, "--dir", run_, "--manual"});
    node_.emplace(folder_, flags);
    ASSERT_TRUE(Await([&] { return node_->out().find("\nready ") != std::string::npos; }))
        << node_->out() << node_->err();
    std::string error;
    reader_ = RunDirectory::Open(run_, error);
    ASSERT_NE(reader_, nullptr) << error;
  }
  pid_t EnginePid() const {
    pid_t pid = 0;
    std::ifstream(run_ + "/engine.pid") >> pid;
    EXPECT_GT(pid, 1) << "a signal to pid 0 or -1 would reach other processes";
    return pid > 1 ? pid : 0x7fffffff;
  }

  const std::string run_ = folder_.path() + "/run";
  std::optional<Process> node_;
  std::unique_ptr<RunDirectory> reader_;
};

TEST_F(EngineOfANodeTest, ListensWhereTheScenarioSays) {
  StartWith("tcp: none, unix: host.sock", {});
  EXPECT_TRUE(IsSocket(run_ + "/host.sock"));
  EXPECT_FALSE(IsSocket(run_ + "/engine.sock"));
  EXPECT_FALSE(std::filesystem::exists(run_ + "/engine.addr"));
  EXPECT_NE(node_->out().find("\nengine     " + run_ + "/host.sock, process "), std::string::npos)
      << node_->out();
  node_->Signal(SIGTERM);
  EXPECT_EQ(node_->Wait(), 0);
  EXPECT_FALSE(std::filesystem::exists(run_ + "/host.sock"));
}

TEST_F(EngineOfANodeTest, ListensOnTcpOnly) {
  StartWith("tcp: \"127.0.0.1:0\", unix: none", {});
  EXPECT_NE(ReadAll(run_ + "/engine.addr"), "");
  const std::string address = ReadAll(run_ + "/engine.addr");
  EXPECT_NE(node_->out().find("\nengine     TCP " + address.substr(0, address.size() - 1) +
                              " (engine.addr), process "),
            std::string::npos)
      << node_->out();
}

TEST_F(EngineOfANodeTest, TakesAFreePortWhenTheScenariosPortIsInUse) {
  TakenPort other;
  StartWith("tcp: \"" + other.address() + "\", unix: none", {});
  EXPECT_NE(node_->out().find("\nengine     " + other.address() + " is taken by another program; "),
            std::string::npos)
      << node_->out();
  const std::string address = ReadAll(run_ + "/engine.addr");
  EXPECT_TRUE(address.starts_with("127.0.0.1:")) << address;
  EXPECT_NE(address, other.address() + "\n");
  const std::string run = folder_.path() + "/insisting";
  const Outcome insisting = Run({"run", folder_.path() + "/engine.yaml", "--dir", run, "--manual",
                                 "--engine-tcp", other.address()});
  EXPECT_NE(insisting.code, 0) << "a requested address is used or the start fails";
}

TEST_F(ProgramTest, GivesANodeTheLibraryOfItsDriver) {
  for (const auto& [driver, folder] :
       {std::pair("470.199.02", "/lib/r470/"), std::pair("495.29.05", "/lib/")}) {
    const std::string scenario = folder_.Write(
        "driver.yaml", std::string(kScenario) + "driver: {version: " + driver + "}\n");
    const std::string run = folder_.path() + "/run-" + driver;
    Process node(folder_, {"run", scenario, "--dir", run, "--manual", "--engine-tcp=127.0.0.1:0"});
    ASSERT_TRUE(Await([&] { return node.out().find("\nready ") != std::string::npos; }))
        << node.out() << node.err();
    for (const char* name : {"libnvidia-ml.so.1", "libnvidia-ml.so"}) {
      EXPECT_EQ(std::filesystem::read_symlink(run + "/lib/" + name),
                std::filesystem::absolute(PODGPU_BINARY_DIR).string() + folder + name);
    }
  }
}

TEST_F(EngineOfANodeTest, RestartsADeadEngineAtTheSameAddressWhenAskedTo) {
  StartWith("tcp: \"127.0.0.1:0\"", {"--restart-engine=10ms"});
  const std::string address = ReadAll(run_ + "/engine.addr");
  for (uint64_t generation = 2; generation < 4; ++generation) {
    const pid_t pid = EnginePid();
    kill(pid, SIGKILL);
    ASSERT_TRUE(Await([&] {
      return reader_->engine_generation() == generation && reader_->engine_up();
    })) << node_->out();
    EXPECT_NE(EnginePid(), pid);
    EXPECT_EQ(ReadAll(run_ + "/engine.addr"), address)
        << "clients look for it at the first address";
  }
  EXPECT_NE(node_->out().find("ended by signal 9; another starts in 10 ms\n"), std::string::npos)
      << node_->out();
}

}  // namespace
}  // namespace podgpu::sim
