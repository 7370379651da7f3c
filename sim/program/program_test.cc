// podgpu-sim as people run it: real processes, their output, their exit codes.
#include "sim/testing/program.h"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace podgpu::sim {
namespace {

TEST_F(ProgramTest, RefusesWrongUseInOneLineWithExitCodeTwo) {
  struct Case {
    std::vector<std::string> words;
    std::string line;
  };
  const std::string dir = "--dir=" + folder_.path();
  const Case cases[] = {
      {{"tikc"}, "podgpu-sim: unknown command \"tikc\"; see `podgpu-sim --help`"},
      {{"trutj"}, "podgpu-sim: unknown command \"trutj\"; nearest is truth"},
      {{"run"}, "podgpu-sim run: SCENARIO is missing; see `podgpu-sim run --help`"},
      {{"run", "demo", "--"}, "podgpu-sim run: no program follows --; see `podgpu-sim run --help`"},
      {{"run", "demo", "--manuel"}, "podgpu-sim run: unknown flag --manuel; nearest is --manual"},
      {{"fleet", "--nodes=0"},
       "podgpu-sim fleet: --nodes is \"0\"; write a number of nodes from 1"},
      {{"fleet", "--nodes=many"},
       "podgpu-sim fleet: --nodes is \"many\"; write a whole number up to 20000"},
      {{"fleet", "--hanging=60", "--garbage=60"},
       "podgpu-sim fleet: --hanging, --refusing and --garbage add up to 120 percent; the most "
       "is 100"},
      {{"run", "demo", "--speed", "fast"},
       "podgpu-sim run: --speed is \"fast\"; write two whole numbers, such as 60/1"},
      {{"run", "demo", "--speed", "2/1", "--manual"},
       "podgpu-sim run: --manual and --speed exclude each other; leave one out"},
      {{"run", "demo", "--time-scale", "0"},
       "podgpu-sim run: --time-scale is \"0\"; write a whole number from 1 to 10000"},
      {{"run", "demo", "--restart-engine", "1"},
       "podgpu-sim run: --restart-engine is \"1\"; write a time with its unit, such as 1.5s, 200ms "
       "or 2min"},
      {{"run", "no-such"},
       "no-such: no such scenario; give a file, or the name of one in sim/scenarios, such as demo"},
      {{"tick", "1"},
       "podgpu-sim tick: the step is \"1\"; write a time with its unit, such as 1.5s, 200ms or "
       "2min"},
      {{"speed", "0/1"},
       "podgpu-sim speed: the speed is \"0/1\"; write two whole numbers, such as 60/1, or manual"},
      {{"mig", "3g.40gb"}, "podgpu-sim mig: --gpu N is missing"},
      {{"mig", "3g.40gb", "--gpu", "x"},
       "podgpu-sim mig: --gpu is \"x\"; write the index of a GPU, from 0"},
      {{"mig", "3g]", "--gpu", "0"},
       "podgpu-sim mig: a profile is \"3g]\"; write MIG profiles such as 3g.40gb"},
      {{"power-limit", "300", "--gpu", "0"},
       "podgpu-sim power-limit: the limit is \"300\"; write watts, such as 300W"},
      {{"fault", "gpu_last", "gpu=0"},
       "podgpu-sim fault: unknown kind of fault \"gpu_last\"; nearest is gpu_lost"},
      {{"fault", "mig_set", "gpu=0"}, "podgpu-sim fault mig_set: layout=PROFILE,... is missing"},
      {{"heal", "gpu_last"},
       "podgpu-sim heal: unknown kind of fault \"gpu_last\"; nearest is gpu_lost"},
      {{"truth", "--at", "1"},
       "podgpu-sim truth: --at is \"1\"; write a time with its unit, such as 1.5s, 200ms or 2min"},
      {{"compile", scenario_, "x"},
       "podgpu-sim compile: unexpected operand \"x\"; see `podgpu-sim compile --help`"},
  };
  for (const Case& c : cases) {
    const Outcome outcome = Run(c.words);
    EXPECT_EQ(outcome.err, c.line + "\n");
    EXPECT_EQ(outcome.code, 2) << c.line;
    EXPECT_EQ(outcome.out, "") << c.line;
  }
}

TEST_F(ProgramTest, NamesTheRemedyWithoutANode) {
  for (const std::vector<std::string>& words : {std::vector<std::string>{"tick", "+1s"},
                                                {"speed", "1/1"},
                                                {"heal"},
                                                {"truth"},
                                                {"power-limit", "300W", "--gpu", "0"},
                                                {"engine"}}) {
    std::vector<std::string> all = words;
    all.insert(all.end(), {"--dir", folder_.path() + "/none"});
    const Outcome outcome = Run(all);
    EXPECT_EQ(outcome.code, 1) << words.front();
    EXPECT_EQ(outcome.err.find(folder_.path() + "/none/state: No such file or directory; start a "
                                                "simulated node with `podgpu-sim run SCENARIO"),
              0U)
        << outcome.err;
  }
}

TEST_F(ProgramTest, PrintsHelpForEveryCommand) {
  const Outcome all = Run({"--help"});
  EXPECT_EQ(all.code, 0);
  EXPECT_EQ(all.err, "");
  for (const char* name : {"run", "compile", "engine", "mig", "power-limit", "fault", "heal",
                           "speed", "tick", "truth"}) {
    EXPECT_NE(all.out.find("\n  " + std::string(name) + " "), std::string::npos) << name;
    const Outcome one = Run({name, "--help"});
    EXPECT_EQ(one.code, 0) << name;
    EXPECT_NE(one.out.find("usage: podgpu-sim " + std::string(name)), std::string::npos) << name;
  }
  EXPECT_EQ(Run({}).code, 2) << "a command is required";
}

TEST_F(ProgramTest, ManualHasEveryCommandAndFlag) {
  const Outcome manual = Run({"manual"});
  EXPECT_EQ(manual.code, 0);
  const std::string help = Run({"--help"}).out;
  for (const char* name : {"run", "compile", "engine", "fleet", "mig", "fault", "heal", "tick"}) {
    EXPECT_NE(manual.out.find("\n.SH \"COMMAND: " + std::string(name) + "\"\n"), std::string::npos)
        << name;
    EXPECT_NE(help.find("\n  " + std::string(name) + " "), std::string::npos) << name;
  }
  EXPECT_NE(manual.out.find("\n\\fB\\-\\-engine\\-tcp\\fR "), std::string::npos);
}

TEST_F(ProgramTest, CompilesTheSameImageEveryTime) {
  const std::string image = folder_.path() + "/image.bin";
  const Outcome first = Run({"compile", scenario_, "-o", image});
  ASSERT_EQ(first.code, 0) << first.err;
  const std::string bytes = ReadAll(image);
  EXPECT_EQ(first.out.find(scenario_ + ": image "), 0U) << first.out;
  EXPECT_NE(first.out.find(" of " + std::to_string(bytes.size()) + " bytes\n"), std::string::npos)
      << first.out;
  const Outcome second = Run({"compile", scenario_, "-o", image});
  EXPECT_EQ(second.out, first.out);
  EXPECT_EQ(ReadAll(image), bytes);
}

TEST_F(ProgramTest, ReportsEveryErrorOfAScenario) {
  const std::string file =
      folder_.Write("bad.yaml",
                    "format: 1\nname: bad\ngpus:\n  - {class: h100-sxm5-80gb, colour: red}\n"
                    "pods:\n  - {name: a, namespace: b, start: 5}\n");
  for (const char* command : {"compile", "run"}) {
    const Outcome outcome = Run({command, file});
    EXPECT_EQ(outcome.code, 2);
    EXPECT_NE(outcome.err.find(file + ":4:"), std::string::npos) << outcome.err;
    EXPECT_NE(outcome.err.find(file + ":6:"), std::string::npos) << outcome.err;
    EXPECT_EQ(outcome.out, "");
  }
}

TEST_F(ProgramTest, RunsAProgramOnANodeThatEndsWithIt) {
  const std::vector<std::string> run = {
      "run", scenario_, "--engine-tcp=127.0.0.1:0", "--dir=" + folder_.path() + "/node", "--",
      "sh",  "-c"};
  const auto with = [&](const std::string& script) {
    std::vector<std::string> words = run;
    words.push_back(script);
    return words;
  };
  const Outcome outcome = Run(with(
      "echo $PODGPU_SIM_DIR $LD_LIBRARY_PATH; for file in $DCGM_POD_RESOURCES_KUBELET_SOCKET "
      "$PODGPU_SYSFS_ROOT/bus/pci $PODGPU_PROC_ROOT; do test -e $file || exit 4; done; exit 3"));
  EXPECT_EQ(outcome.code, 3) << outcome.err;
  EXPECT_EQ(outcome.out.find(folder_.path() + "/node " + folder_.path() + "/node/lib"), 0U)
      << outcome.out;
  EXPECT_NE(outcome.err.find("ready "), std::string::npos) << outcome.err;
  EXPECT_TRUE(outcome.err.ends_with("ended      " + folder_.path() + "/node\n")) << outcome.err;
  EXPECT_FALSE(std::filesystem::exists(folder_.path() + "/node/engine.sock"));

  EXPECT_EQ(Run(with("kill -9 $$")).code, 128 + 9);
  const Outcome none = Run({"run", scenario_, "--engine-tcp=127.0.0.1:0",
                            "--dir=" + folder_.path() + "/node", "--", "/nowhere/podgpu"});
  EXPECT_EQ(none.code, 2);
  EXPECT_TRUE(none.err.ends_with(
      "podgpu-sim: /nowhere/podgpu cannot be started: No such file or directory\n"))
      << none.err;

  Process node(folder_, with("trap 'exit 7' TERM; echo up; while :; do sleep 0.01; done"));
  EXPECT_TRUE(Await([&] { return node.out().ends_with("up\n"); })) << node.err();
  node.Signal(SIGTERM);
  EXPECT_EQ(node.Wait(), 7) << "the program is asked to end";
}

TEST_F(RunningNodeTest, ServesUntilInterruptedAndLeavesNoProcess) {
  EXPECT_TRUE(IsSocket(run_ + "/engine.sock"));
  EXPECT_TRUE(IsSocket(run_ + "/kubelet/kubelet.sock"));
  EXPECT_TRUE(std::filesystem::exists(run_ + "/lib/libnvidia-ml.so.1"));
  EXPECT_TRUE(reader_->engine_up());
  const pid_t engine = EnginePid();
  EXPECT_EQ(kill(engine, 0), 0);
  node_.Signal(SIGINT);
  EXPECT_EQ(node_.Wait(), 0);
  EXPECT_NE(kill(engine, 0), 0);
  EXPECT_FALSE(IsSocket(run_ + "/engine.sock"));
  EXPECT_FALSE(IsSocket(run_ + "/kubelet/kubelet.sock"));
  EXPECT_FALSE(reader_->engine_up());
  EXPECT_EQ(node_.err(), "");
}

TEST_F(RunningNodeTest, AlsoEndsAStoppedEngine) {
  const pid_t engine = EnginePid();
  kill(engine, SIGSTOP);
  node_.Signal(SIGTERM);
  EXPECT_EQ(node_.Wait(), 0);
  EXPECT_NE(kill(engine, 0), 0);
}

TEST_F(RunningNodeTest, KeepsRunningWithoutItsEngineAndAcceptsANewOne) {
  EXPECT_EQ(reader_->engine_generation(), 1U);
  const std::string address = ReadAll(run_ + "/engine.addr");
  EXPECT_NE(address, "");
  kill(EnginePid(), SIGKILL);
  EXPECT_TRUE(Await([&] { return !reader_->engine_up(); }));
  EXPECT_NE(node_.out().find("ended by signal 9; start another with `podgpu-sim engine --dir " +
                             run_ + "`"),
            std::string::npos)
      << node_.out();
  Process other(commands_, {"engine", "--dir", run_});
  EXPECT_TRUE(Await([&] { return reader_->engine_up(); })) << other.err();
  EXPECT_EQ(reader_->engine_generation(), 2U);
  EXPECT_EQ(ReadAll(run_ + "/engine.addr"), address)
      << "clients look for the engine at its first address";
  other.Signal(SIGTERM);
  EXPECT_EQ(other.Wait(), 0);
  EXPECT_FALSE(reader_->engine_up());
}

TEST_F(RunningNodeTest, ShowsItsGpusOnThePciBus) {
  EXPECT_EQ(ReadAll(run_ + "/sys/bus/pci/devices/0000:1b:00.0/class"), "0x030200\n");
  EXPECT_EQ(ReadAll(run_ + "/sys/bus/pci/devices/0000:05:00.0/class"), "0x068000\n") << "a switch";
}

TEST_F(RunningNodeTest, LeavesNoProcessWhenItIsKilled) {
  const pid_t engine = EnginePid();
  node_.Signal(SIGKILL);
  node_.Wait();
  EXPECT_TRUE(Await([&] {
    return ReadAll("/proc/" + std::to_string(engine) + "/stat").find(") Z ") != std::string::npos ||
           kill(engine, 0) != 0;
  }));
}

TEST_F(RunningNodeTest, IsTheOnlyOneInItsDirectory) {
  const Outcome second = Command({"run", scenario_});
  EXPECT_EQ(second.code, 2);
  EXPECT_EQ(second.err, run_ + ": another podgpu-sim runs a node here; stop it or choose --dir\n");
}

TEST_F(RunningNodeTest, IsFoundThroughTheEnvironment) {
  setenv("PODGPU_SIM_DIR", run_.c_str(), 1);
  Process tick(commands_, {"tick", "+2s"});
  unsetenv("PODGPU_SIM_DIR");
  EXPECT_EQ(tick.Wait(), 0) << tick.err();
  EXPECT_EQ(reader_->Now(), 2'000'000);
}

TEST_F(RunningNodeTest, MovesTheClockForAllReaders) {
  const Outcome tick = Command({"tick", "+1.5s"});
  EXPECT_EQ(tick.out, "world time 1.5s\n") << tick.err;
  EXPECT_EQ(reader_->Now(), 1'500'000);
  const Outcome speed = Command({"speed", "60/1"});
  EXPECT_EQ(speed.code, 0) << speed.err;
  EXPECT_TRUE(Await([&] { return reader_->Now() > 1'500'000; }));
  const Outcome refused = Command({"tick", "+1s"});
  EXPECT_EQ(refused.code, 1);
  EXPECT_EQ(refused.err, run_ +
                             ": the clock of this node runs by itself; start it with --manual to "
                             "move it by ticks\n");
  EXPECT_EQ(Command({"speed", "manual"}).code, 0);
  EXPECT_EQ(reader_->Now(), reader_->Now());
}

TEST_F(RunningNodeTest, ChangesThePowerLimitAndTheMigLayout) {
  Outcome outcome = Command({"power-limit", "300W", "--gpu", "0"});
  EXPECT_EQ(outcome.out, "at 0.05s: kind: power_limit, gpu: 0, watts: 300\n") << outcome.err;
  outcome = Command({"mig", "1g.10gb", "1g.10gb", "--gpu", "1", "--at", "5s"});
  EXPECT_EQ(outcome.out, "at 5s: kind: mig_set, gpu: 1, layout: [1g.10gb, 1g.10gb]\n")
      << outcome.err;
  EXPECT_EQ(reader_->world().PowerLimitMw(0, 1'000'000), 300'000);
  EXPECT_EQ(reader_->world().instance_count(1, 5'000'000), 2);
  EXPECT_EQ(Command({"tick", "+10s"}).code, 0);
  outcome = Command({"heal"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(reader_->world().PowerLimitMw(0, 11'000'000), 700'000);
  outcome = Command({"mig", "9g.900gb", "--gpu", "1"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(outcome.err.find("layout[0]: no profile '9g.900gb' on this class"), 0U) << outcome.err;
}

TEST_F(RunningNodeTest, StartsAndHealsAnyFault) {
  Outcome outcome = Command({"fault", "gpu_lost", "gpu=0"});
  EXPECT_EQ(outcome.out, "at 0.05s: kind: gpu_lost, gpu: 0\n") << outcome.err;
  outcome = Command({"fault", "hang", "calls=dcgmEntitiesGetLatestValues", "--at", "5s"});
  EXPECT_EQ(outcome.out, "at 5s: kind: hang, calls: [\"dcgmEntitiesGetLatestValues\"]\n")
      << outcome.err;
  EXPECT_NE(reader_->world().FaultAt(FaultKind::kGpuLost, 0, 1'000'000), nullptr);
  EXPECT_NE(reader_->world().FaultAt(FaultKind::kHang, 5'000'000), nullptr);
  outcome = Command({"fault", "watch_stale", "gpu=9"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(outcome.err,
            "podgpu-sim fault watch_stale: gpu: found '9'; must be a whole number from 0 to 1\n");
  EXPECT_EQ(Command({"tick", "+10s"}).code, 0);
  EXPECT_EQ(Command({"heal", "lost"}).out, "at 10.2s: lost is as in the scenario again\n");
  EXPECT_EQ(reader_->world().FaultAt(FaultKind::kGpuLost, 11'000'000), nullptr);
  EXPECT_NE(reader_->world().FaultAt(FaultKind::kHang, 11'000'000), nullptr);
  EXPECT_EQ(Command({"heal"}).out, "at 10.2s: all is as in the scenario again\n");
  EXPECT_EQ(reader_->world().FaultAt(FaultKind::kHang, 11'000'000), nullptr);
}

TEST_F(RunningNodeTest, AppliesAnEditedControlFile) {
  commands_.Write("new.yaml", "- {at: now+2s, kind: power_limit, gpu: 0, watts: 300}\n");
  std::filesystem::rename(commands_.path() + "/new.yaml", run_ + "/control.yaml");
  EXPECT_TRUE(Await([&] { return reader_->log_generation() == 1; })) << node_.err();
  EXPECT_EQ(reader_->world().PowerLimitMw(0, 2'000'000), 300'000);
  std::ofstream(run_ + "/control.yaml") << "- {at: now+2s, kind: xit, gpu: 0}\n";
  EXPECT_TRUE(Await([&] { return !node_.err().empty(); }));
  EXPECT_TRUE(Await([&] { return node_.err().ends_with("the control log is unchanged\n"); }));
  EXPECT_NE(node_.err().find(
                "control.yaml:1:22: [0].kind: unknown kind of fault \"xit\"; nearest is xid"),
            std::string::npos)
      << node_.err();
  EXPECT_EQ(reader_->log_generation(), 1U);
}

TEST_F(RunningNodeTest, PrintsTheTruthOfAnyPeriod) {
  const Outcome outcome = Command({"truth", "--from", "1s", "--at", "3s"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out.find(R"({"scenario":"small","from_us":1000000,"at_us":3000000,"gpus":[)"),
            0U)
      << outcome.out;
  const Outcome wrong = Command({"truth", "--from", "3s", "--at", "1s"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_EQ(wrong.err, "podgpu-sim truth: --from 3s lies after --at 1s; exchange them\n");
}

TEST_F(ProgramTest, RefusesAPathThatIsTooLongForItsSockets) {
  const std::string deep = folder_.path() + "/" + std::string(100, 'd');
  const Outcome outcome = Run({"run", scenario_, "--dir", deep});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.err.find("/engine.sock: a socket's path may have 107 bytes and this has "),
            std::string::npos)
      << outcome.err;
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1);
}

}  // namespace
}  // namespace podgpu::sim
