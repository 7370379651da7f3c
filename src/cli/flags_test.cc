#include "cli/flags.h"

#include <algorithm>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "base/files.h"
#include "base/testing/temporary_folder.h"
#include "cli/flag_table.h"

namespace podgpu {
namespace {

using Variables = std::map<std::string, std::string>;

Environment EnvironmentOf(Variables variables) {
  return [variables = std::move(variables)](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional<std::string>(found->second);
  };
}

StatusOr<NodeCommand> Parse(const std::vector<std::string>& arguments, Variables variables = {}) {
  return ParseFlags(arguments, EnvironmentOf(std::move(variables)));
}

std::string Refusal(const std::vector<std::string>& arguments, Variables variables = {}) {
  const StatusOr<NodeCommand> command = Parse(arguments, std::move(variables));
  return command.ok() ? "accepted" : std::string(command.status().message());
}

TEST(Flags, HaveTheDefaultsOfDcgmExporter) {
  const NodeCommand command = Parse({}).value();
  EXPECT_EQ(command.exporter.http.address, ":9400");
  EXPECT_EQ(command.exporter.collect_interval, std::chrono::milliseconds(30'000));
  EXPECT_FALSE(command.exporter.kubernetes);
  EXPECT_EQ(command.counters.path, "");
  EXPECT_EQ(command.source.address, "") << "an embedded engine";
  EXPECT_EQ(command.exporter.view.hostname_label, "Hostname");
  EXPECT_EQ(command.exporter.views, (std::vector<View>{View::kDcgm, View::kCore, View::kSelf}));
}

TEST(Flags, AcceptOneOrTwoDashesAndEqualsSignOrBlank) {
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{"-address", ":1"},
                                             {"--address", ":1"},
                                             {"-address=:1"},
                                             {"--address=:1"},
                                             {"-a", ":1"},
                                             {"--a=:1"}}) {
    EXPECT_EQ(Parse(arguments).value().exporter.http.address, ":1") << arguments.front();
  }
}

TEST(Flags, StartGpuManagersListenerOnlyWhenRequested) {
  const ExporterOptions off = Parse({}).value().exporter;
  EXPECT_FALSE(off.vcuda.enabled);
  EXPECT_FALSE(off.processes.enabled);
  EXPECT_EQ(off.query_address, "");
  const ExporterOptions page = Parse({"--requested-vs-used=on"}).value().exporter;
  EXPECT_TRUE(page.vcuda.enabled);
  EXPECT_TRUE(page.processes.enabled) << "its page needs processes";
  EXPECT_EQ(page.views, off.views) << "the views do not change";
  EXPECT_EQ(page.query_address, "");
  struct Row {
    std::vector<std::string> arguments;
    std::string address;
  };
  const Row rows[] = {
      {{"--query-port=5678"}, "localhost:5678"},
      {{"--query-addr=0.0.0.0"}, "0.0.0.0:5678"},
      {{"-query-addr", "[::1]", "-query-port", "0"}, "[::1]:0"},
      {{"--query-addr=", "--query-port=9"}, ":9"},
      {{"--query-port=9400", "--address=unix:/run/x"}, "localhost:9400"},
      {{"--query-port=9400", "--web-systemd-socket"}, "localhost:9400"},
      {{"--query-port=9400", "--address=10.0.0.1:9400"}, "localhost:9400"},
  };
  for (const Row& row : rows) {
    const StatusOr<NodeCommand> command = Parse(row.arguments);
    ASSERT_TRUE(command.ok()) << command.status();
    EXPECT_EQ(command->exporter.query_address, row.address);
    EXPECT_TRUE(command->exporter.vcuda.enabled);
    EXPECT_TRUE(command->exporter.processes.enabled);
  }
}

TEST(Flags, TakeTheUnitOfVolcanosMemory) {
  EXPECT_FALSE(Parse({}).value().exporter.vcuda.volcano_unit_mib.has_value()) << "unknown";
  EXPECT_EQ(Parse({"--volcano-memory-factor=10"}).value().exporter.vcuda.volcano_unit_mib, 10U);
  EXPECT_NE(Refusal({"--volcano-memory-factor=0"}).find("must be from 1 to 1048576 MiB"),
            std::string::npos);
}

TEST(Flags, RefuseTwoListenersOnOneAddress) {
  const std::vector<std::vector<std::string>> rows = {
      {"--query-port=9400"},
      {"--query-addr=0.0.0.0", "--query-port=9400"},
      {"--address=localhost:5678", "--query-port=5678"},
      {"--address=0.0.0.0:5678", "--query-addr=127.0.0.1"},
  };
  for (const std::vector<std::string>& arguments : rows) {
    EXPECT_NE(Refusal(arguments).find("--query-port: "), std::string::npos) << arguments.front();
    EXPECT_NE(Refusal(arguments).find("Choose another port"), std::string::npos);
  }
  EXPECT_NE(Refusal({"--query-port=65536"}).find("must be a port"), std::string::npos);
  EXPECT_NE(Refusal({"--query-addr=a b"}).find("must be a host"), std::string::npos);
  EXPECT_NE(Refusal({"--requested-vs-used=yes"}).find("is not on or off"), std::string::npos);
}

TEST(Flags, BooleansHaveNoSeparateValue) {
  EXPECT_TRUE(Parse({"-k"}).value().exporter.kubernetes);
  EXPECT_FALSE(Parse({"-k=F"}).value().exporter.kubernetes);
  const NodeCommand command = Parse({"-k", "false", "-a", ":1"}).value();
  EXPECT_TRUE(command.exporter.kubernetes);
  EXPECT_EQ(command.ignored_arguments, (std::vector<std::string>{"false", "-a", ":1"}));
  EXPECT_EQ(command.exporter.http.address, ":9400")
      << "the first positional argument ends the flags";
}

TEST(Flags, IntegersAcceptGosBases) {
  EXPECT_EQ(Parse({"-c", "0x3e8"}).value().exporter.collect_interval,
            std::chrono::milliseconds(1000));
}

TEST(Flags, ListsAppendAndSplitOnCommas) {
  EXPECT_EQ(Parse({"--nvidia-resource-names=a/b,c/d", "--nvidia-resource-names", " e/f "})
                .value()
                .exporter.join.extra_resource_names,
            (std::vector<std::string>{"a/b", "c/d", "e/f"}));
}

TEST(Flags, FilterPodLabelsByTheAllowlist) {
  EXPECT_EQ(Parse({"-k"}).value().exporter.join.pod_labels, nullptr);
  const NodeCommand command =
      Parse({"-k"}, {{"DCGM_EXPORTER_KUBERNETES_ENABLE_POD_LABELS", "true"},
                     {"DCGM_EXPORTER_KUBERNETES_POD_LABEL_ALLOWLIST_REGEX", "^team$,^tier$"}})
          .value();
  ASSERT_NE(command.exporter.join.pod_labels, nullptr);
  EXPECT_TRUE(command.exporter.join.pod_labels->Allows("team"));
  EXPECT_FALSE(command.exporter.join.pod_labels->Allows("other"));
  EXPECT_TRUE(FlagWarnings(command).empty());
  EXPECT_EQ(FlagWarnings(Parse({"--kubernetes-enable-pod-uid"}).value()).size(), 1U)
      << "no labels without -k";
}

TEST(Flags, WarnAboutMissingDataOfVirtualGpus) {
  const NodeCommand command =
      Parse({"-k", "--kubernetes-enable-pod-labels"}, {{"KUBERNETES_VIRTUAL_GPUS", "true"}})
          .value();
  EXPECT_TRUE(command.exporter.view.virtual_gpus);
  const std::vector<std::string> warnings = FlagWarnings(command);
  ASSERT_EQ(warnings.size(), 2U);
  EXPECT_NE(warnings[0].find("DCGM_FI_DEV_GPU_UTIL and DCGM_FI_DEV_FB_USED"), std::string::npos);
  EXPECT_NE(warnings[1].find("labels of pods"), std::string::npos);
  const std::vector<std::string> measured = {"-k", "--kubernetes-virtual-gpus",
                                             "--process-metrics=on"};
  EXPECT_TRUE(FlagWarnings(Parse(measured).value()).empty());
  const auto without = FlagWarnings(Parse({"--kubernetes-virtual-gpus"}).value());
  ASSERT_EQ(without.size(), 1U);
  EXPECT_NE(without[0].find("--kubernetes (-k)"), std::string::npos);
}

TEST(Flags, ClaimsNeedKubernetes) {
  EXPECT_FALSE(Parse({"-k"}).value().exporter.join.claims);
  const NodeCommand command = Parse({"-k"}, {{"KUBERNETES_ENABLE_DRA", "true"}}).value();
  EXPECT_TRUE(command.exporter.join.claims);
  EXPECT_TRUE(FlagWarnings(command).empty());
  EXPECT_EQ(FlagWarnings(Parse({"--kubernetes-enable-dra"}).value()).size(), 1U);
  const auto both = Parse({"-k", "--kubernetes-enable-dra", "--kubernetes-virtual-gpus"}).value();
  EXPECT_NE(FlagWarnings(both).back().find("--kubernetes-enable-dra"), std::string::npos);
}

TEST(Flags, FindTheApiServerInTheEnvironmentOrKeepTheReason) {
  EXPECT_FALSE(Parse({}).value().exporter.api_server.ok());
  const NodeCommand command =
      Parse({}, {{"KUBERNETES_SERVICE_HOST", "10.0.0.1"}, {"NODE_NAME", "n"}}).value();
  ASSERT_TRUE(command.exporter.api_server.ok());
  EXPECT_EQ(command.exporter.api_server->host, "10.0.0.1");
  const NodeCommand nameless = Parse({}, {{"KUBERNETES_SERVICE_HOST", "10.0.0.1"}}).value();
  EXPECT_FALSE(nameless.exporter.api_server.ok());
  EXPECT_TRUE(nameless.counters.server.ok()) << "a ConfigMap needs no node name";
  EXPECT_EQ(command.exporter.api_server->token_path,
            "/var/run/secrets/kubernetes.io/serviceaccount/token");
  const NodeCommand elsewhere =
      Parse({"--service-account-dir=/x"}, {{"KUBERNETES_SERVICE_HOST", "h"}, {"NODE_NAME", "n"}})
          .value();
  EXPECT_EQ(elsewhere.exporter.api_server->token_path, "/x/token");
  EXPECT_EQ(elsewhere.exporter.api_server->certificate_path, "/x/ca.crt");
  EXPECT_EQ(elsewhere.counters.server->token_path, "/x/token");
}

TEST(Flags, TheCommandLineReplacesAListFromTheEnvironment) {
  const NodeCommand command =
      Parse({"--nvidia-resource-names=x/y"}, {{"NVIDIA_RESOURCE_NAMES", "a/b"}}).value();
  EXPECT_EQ(command.exporter.join.extra_resource_names, std::vector<std::string>{"x/y"});
}

// For every flag with a variable: the variable alone works, and the command line wins over it.
TEST(Flags, TheCommandLineWinsOverEveryVariable) {
  struct Case {
    std::string flag, variable, from_environment, from_line;
    std::function<std::string(const NodeCommand&)> read;
  };
  const auto views = [](const NodeCommand& c) { return std::to_string(c.exporter.views.size()); };
  const auto text = [](bool flag) { return std::string(flag ? "true" : "false"); };
  const Case cases[] = {
      {"address", "DCGM_EXPORTER_LISTEN", ":1", ":2",
       [](const NodeCommand& c) { return c.exporter.http.address; }},
      {"collectors", "DCGM_EXPORTER_COLLECTORS", "/a", "/b",
       [](const NodeCommand& c) { return c.counters.path; }},
      {"collect-interval", "DCGM_EXPORTER_INTERVAL", "200", "300",
       [](const NodeCommand& c) { return std::to_string(c.exporter.collect_interval.count()); }},
      {"xid-count-window-size", "DCGM_EXPORTER_XID_COUNT_WINDOW_SIZE", "2000", "3000",
       [](const NodeCommand& c) { return std::to_string(c.exporter.windows.xid_window.count()); }},
      {"clock-events-count-window-size", "DCGM_EXPORTER_CLOCK_EVENTS_COUNT_WINDOW_SIZE", "2000",
       "3000",
       [](const auto& c) { return std::to_string(c.exporter.windows.clock_window.count()); }},
      {"kubernetes", "DCGM_EXPORTER_KUBERNETES", "true", "false",
       [&](const auto& c) { return text(c.exporter.kubernetes && c.exporter.view.kubernetes); }},
      {"pod-resources-kubelet-socket", "DCGM_POD_RESOURCES_KUBELET_SOCKET", "/a", "/b",
       [](const NodeCommand& c) { return c.kubelet.socket; }},
      {"use-old-namespace", "DCGM_EXPORTER_USE_OLD_NAMESPACE", "true", "false",
       [&](const NodeCommand& c) { return text(c.exporter.view.use_old_namespace); }},
      {"replace-blanks-in-model-name", "DCGM_EXPORTER_REPLACE_BLANKS_IN_MODEL_NAME", "true",
       "false",
       [&](const NodeCommand& c) { return text(c.exporter.view.replace_blanks_in_model_name); }},
      {"configmap-data", "DCGM_EXPORTER_CONFIGMAP_DATA", "gpu:a", "gpu:b",
       [](const NodeCommand& c) {
         return c.counters.config_map->name_space + ":" + c.counters.config_map->name;
       }},
      {"no-hostname", "DCGM_EXPORTER_NO_HOSTNAME", "true", "false",
       [&](const NodeCommand& c) { return text(c.no_hostname); }},
      {"hostname-label", "PODGPU_HOSTNAME_LABEL", "hostname", "Hostname",
       [](const NodeCommand& c) { return c.exporter.view.hostname_label; }},
      {"metrics-views", "PODGPU_METRICS_VIEWS", "1", "2", views},
      {"remote-hostengine-info", "DCGM_REMOTE_HOSTENGINE_INFO", "a:1", "b:2",
       [](const NodeCommand& c) { return c.source.address; }},
      {"libdcgm", "PODGPU_LIBDCGM", "/a", "/b",
       [](const NodeCommand& c) { return c.source.dcgm_library; }},
      {"libnvidia-ml", "PODGPU_LIBNVIDIA_ML", "/a", "/b",
       [](const NodeCommand& c) { return c.source.nvml_library; }},
      {"kubernetes-virtual-gpus", "KUBERNETES_VIRTUAL_GPUS", "true", "false",
       [&](const NodeCommand& c) { return text(c.exporter.view.virtual_gpus); }},
      {"kubernetes-enable-dra", "KUBERNETES_ENABLE_DRA", "true", "false",
       [&](const NodeCommand& c) { return text(c.exporter.join.claims); }},
      {"sysfs-root", "PODGPU_SYSFS_ROOT", "/a", "/b",
       [](const NodeCommand& c) { return c.sysfs_root; }},
      {"log-format", "DCGM_EXPORTER_LOG_FORMAT", "json", "text",
       [](const NodeCommand& c) {
         return std::string(c.log_form == LogForm::kJson ? "json" : "text");
       }},
  };
  const std::map<std::string, std::string> view_words = {{"1", "self"}, {"2", "native,self"}};
  for (const Case& row : cases) {
    const bool is_views = row.flag == "metrics-views";
    const std::string environment =
        is_views ? view_words.at(row.from_environment) : row.from_environment;
    const std::string line = is_views ? view_words.at(row.from_line) : row.from_line;
    EXPECT_EQ(row.read(Parse({}, {{row.variable, environment}}).value()), row.from_environment)
        << row.flag;
    EXPECT_EQ(
        row.read(Parse({"--" + row.flag + "=" + line}, {{row.variable, environment}}).value()),
        row.from_line)
        << row.flag;
  }
}

// The same for the flags of processes.
TEST(Flags, TheCommandLineWinsOverTheVariablesOfProcesses) {
  struct ProcessCase {
    std::string flag, variable, from_environment, from_line;
    std::function<std::string(const NodeCommand&)> read;
  };
  const ProcessCase cases[] = {
      {"process-metrics", "PODGPU_PROCESS_METRICS", "on", "off",
       [](const NodeCommand& c) {
         const bool on_page = std::ranges::count(c.exporter.views, View::kProcess) == 1;
         EXPECT_EQ(on_page, c.exporter.processes.enabled);
         return std::string(on_page ? "on" : "off");
       }},
      {"process-interval", "PODGPU_PROCESS_INTERVAL", "200ms", "2000ms",
       [](const NodeCommand& c) {
         return std::to_string(c.exporter.processes.period.count()) + "ms";
       }},
      {"metric-prefix", "PODGPU_METRIC_PREFIX", "a", "b_2",
       [](const NodeCommand& c) { return c.exporter.processes.prefix; }},
      {"metric-retention", "PODGPU_METRIC_RETENTION", "0s", "60s",
       [](const NodeCommand& c) {
         const auto retention = c.exporter.processes.table.retention;
         return std::to_string(
                    std::chrono::duration_cast<std::chrono::seconds>(retention).count()) +
                "s";
       }},
      {"process-scope", "PODGPU_PROCESS_SCOPE", "all", "containers",
       [](const NodeCommand& c) {
         return std::string(c.exporter.processes.table.all_processes ? "all" : "containers");
       }},
      {"gpu-idle-power", "PODGPU_GPU_IDLE_POWER", "17", "70",
       [](const NodeCommand& c) {
         return std::to_string(c.exporter.processes.ledger.idle_power_mw / 1'000);
       }},
      {"idle-energy", "PODGPU_IDLE_ENERGY", "equal", "unattributed",
       [](const NodeCommand& c) {
         const bool equal = c.exporter.processes.ledger.idle_energy == IdleEnergy::kEqual;
         return std::string(equal ? "equal" : "unattributed");
       }},
      {"proc-root", "PODGPU_PROC_ROOT", "/a", "/b",
       [](const NodeCommand& c) { return c.source.proc_root; }},
  };
  for (const ProcessCase& row : cases) {
    const Variables variables = {{row.variable, row.from_environment}};
    EXPECT_EQ(row.read(Parse({}, variables).value()), row.from_environment) << row.flag;
    EXPECT_EQ(row.read(Parse({"--" + row.flag, row.from_line}, variables).value()), row.from_line)
        << row.flag;
  }
}

TEST(Flags, AnEmptyVariableIsUnsetButSelectsTheRemoteEngine) {
  const NodeCommand command = Parse({}, {{"DCGM_EXPORTER_INTERVAL", ""},
                                         {"DCGM_EXPORTER_KUBERNETES", ""},
                                         {"DCGM_REMOTE_HOSTENGINE_INFO", ""}})
                                  .value();
  EXPECT_EQ(command.exporter.collect_interval, std::chrono::milliseconds(30'000));
  EXPECT_FALSE(command.exporter.kubernetes);
  EXPECT_EQ(command.source.address, "localhost:5555");
}

TEST(Flags, RefuseInvalidValuesInOneLine) {
  struct Case {
    std::vector<std::string> arguments;
    std::string line;
  };
  const Case cases[] = {
      {{"--adress", ":1"}, "unknown flag \"--adress\"; nearest is --address. See podgpu --help"},
      {{"--qqqq=1"}, "unknown flag \"--qqqq\". See podgpu --help"},
      {{"-c", "soon"},
       "--collect-interval: \"soon\" is not milliseconds such as 5000, or a "
       "duration such as 5s. See podgpu --help"},
      {{"-c"},
       "--collect-interval needs a value: milliseconds such as 5000, or a duration such as 5s. "
       "See podgpu --help"},
      {{"-c", "50"},
       "--collect-interval: \"50\" is refused: must be 100 to 3600000 milliseconds, or "
       "as long a duration such as 5s"},
      {{"-k=maybe"}, "--kubernetes: \"maybe\" is not true or false. See podgpu --help"},
      {{"--stale-after=5"},
       "--stale-after: \"5\" is not a duration such as 5s or 1m30s. See podgpu --help"},
      {{"-d", "f:1"},
       "--devices: \"f:1\" is refused: no range can be specified with the flex option 'f'. "
       "It must be f, g, i, g+i, or g or i with ids, such as g:0,2-3 or g:0+i:7"},
      {{"-s", "x"},
       "--switch-devices: \"x\" is refused: the only valid options preceding ':<range>' are 'g' or "
       "'i', but found \"x\". It must be f, g, i, g+i, or g or i with ids, such as g:0,2-3 or "
       "g:0+i:7"},
      {{"--cpu-devices=g:1-2-3"},
       "--cpu-devices: \"g:1-2-3\" is refused: range can only be '<number>-<number>', but found "
       "\"1-2-3\". It must be f, g, i, g+i, or g or i with ids, such as g:0,2-3 or g:0+i:7"},
      {{"-m", "gpu"},
       "--configmap-data: \"gpu\" is refused: must be NAMESPACE:NAME of a ConfigMap, or none"},
      {{"--stale-after=1ms"}, "--stale-after: \"1ms\" is refused: must be 100ms or more"},
      {{"--metrics-views=dcgm,legcy"},
       "--metrics-views: \"dcgm,legcy\" is refused: \"legcy\" is not one of dcgm, core, native, "
       "process, self"},
      {{"--hostname-label=host"},
       "--hostname-label: \"host\" is refused: must be \"Hostname\" or \"hostname\""},
      {{"-k", "--kubernetes-gpu-id-type=uuid"},
       "--kubernetes-gpu-id-type: \"uuid\" is refused: must be \"uid\" or \"device-name\""},
      {{"--log-format=xml"}, "--log-format: \"xml\" is refused: must be \"text\" or \"json\""},
      {{"--log-level=loud"},
       "--log-level: \"loud\" is refused: must be one of debug, info, warn, error"},
  };
  for (const Case& row : cases) {
    EXPECT_EQ(Refusal(row.arguments), row.line);
  }
  EXPECT_EQ(
      Refusal({}, {{"DCGM_EXPORTER_INTERVAL", "soon"}}),
      "DCGM_EXPORTER_INTERVAL: \"soon\" is not milliseconds such as 5000, or a duration such as "
      "5s. See podgpu --help");
}

TEST(Flags, WarnAboutIgnoredArguments) {
  EXPECT_TRUE(FlagWarnings(Parse({"-k"}).value()).empty());
  EXPECT_EQ(FlagWarnings(Parse({"-k", "extra"}).value()),
            std::vector<std::string>{"argument \"extra\" ends the flags; it is ignored. Flags "
                                     "must begin with a dash; correct it or remove it"});
  EXPECT_EQ(
      FlagWarnings(Parse({"extra", "-k", "-c=1000"}).value()),
      std::vector<std::string>{"argument \"extra\" ends the flags; it is ignored, with the 2 "
                               "behind it. Flags must begin with a dash; correct it or remove it"});
}

TEST(Flags, QuoteInvalidValuesInOneLine) {
  EXPECT_EQ(Refusal({"--a\nb\xFF"}), "unknown flag \"--a b\xEF\xBF\xBD\". See podgpu --help");
  EXPECT_EQ(
      Refusal({"-c", "1\n2"}),
      "--collect-interval: \"1 2\" is not milliseconds such as 5000, or a duration such as 5s. "
      "See podgpu --help");
}

TEST(Flags, HelpAndVersionAreActions) {
  EXPECT_EQ(Parse({"--help"}).value().action, NodeCommand::Action::kShowHelp);
  EXPECT_EQ(Parse({"--help=web"}).value().help_topic, "web");
  EXPECT_EQ(Parse({"help", "web"}).value().help_topic, "web");
  EXPECT_EQ(Parse({"--help=true"}).value().help_topic, "");
  EXPECT_EQ(Parse({"--help=false"}).value().action, NodeCommand::Action::kRun);
  EXPECT_EQ(Parse({"help"}).value().action, NodeCommand::Action::kShowHelp);
  EXPECT_EQ(Parse({"-v"}).value().action, NodeCommand::Action::kShowVersion);
}

TEST(Flags, TheHostnameLabelFollowsTheModeOfOperation) {
  struct Case {
    std::vector<std::string> arguments;
    Variables variables;
    std::string hostname;
  };
  const Case cases[] = {
      {{}, {}, "system"},
      {{}, {{"NODE_NAME", "node-a"}}, "node-a"},
      {{}, {{"NODE_NAME", ""}}, "system"},
      {{"-r", "example.com:5555"}, {{"NODE_NAME", "node-a"}}, "example.com"},
      {{"-r", "127.0.0.1"}, {{"NODE_NAME", "node-a"}}, "node-a"},
      {{"-r", "localhost:5555"}, {{"NODE_NAME", "node-a"}}, "node-a"},
      {{"-r", "127.example.com:5555"}, {}, "127.example.com"},
      {{"-r", "[::1]:5555"}, {}, "system"},
      {{"-r", "[2001:db8::1]:5555"}, {}, "2001:db8::1"},
      {{"-r", "[::]:5555"}, {}, "::"},
      {{"-r", "[::1]"}, {}, "system"},
      {{"-r", "tcp://example.com:5555"}, {{"NODE_NAME", "node-a"}}, "example.com"},
      {{"-r", "unix:///run/dcgm/engine.sock"}, {{"NODE_NAME", "node-a"}}, "node-a"},
      {{"-r", "/run/dcgm/engine.sock"}, {}, "system"},
      {{"-r", "::1"}, {}, "system"},
      {{"-k", "-r", "example.com:5555"}, {{"NODE_NAME", "node-a"}}, "node-a"},
      {{"-k", "-r", "example.com:5555"}, {}, "system"},
      {{"-n"}, {{"NODE_NAME", "node-a"}}, ""},
  };
  for (const Case& row : cases) {
    const NodeCommand command = Parse(row.arguments, row.variables).value();
    EXPECT_EQ(HostnameLabelValue(command, EnvironmentOf(row.variables), "system"), row.hostname)
        << (row.arguments.empty() ? "no arguments" : row.arguments.back());
  }
}

TEST(Flags, FindTheOwnPodFromTheDataOfKubernetes) {
  const TemporaryFolder root;
  root.Write("namespace", "gpu-operator\n");
  const SystemFiles files;
  NodeCommand command;
  command.service_account = root.path();
  const auto find = [&](const std::map<std::string, std::string>& variables) {
    const OwnPod own = FindOwnPod(command, EnvironmentOf(variables), "exporter-x7k2p", files);
    return own.name_space + "/" + own.name;
  };
  EXPECT_EQ(find({}), "/") << "no pod";
  EXPECT_EQ(find({{"POD_NAME", "exporter-x1"}, {"POD_NAMESPACE", "gpu-monitoring"}}),
            "gpu-monitoring/exporter-x1");
  EXPECT_EQ(find({{"KUBERNETES_SERVICE_HOST", "10.0.0.1"}}), "gpu-operator/exporter-x7k2p");
  EXPECT_EQ(find({{"KUBERNETES_SERVICE_HOST", "10.0.0.1"},
                  {"POD_NAME", "on-the-host-network"},
                  {"POD_NAMESPACE", "mine"}}),
            "mine/on-the-host-network");
  command.service_account = root / "nothing";
  EXPECT_EQ(find({{"KUBERNETES_SERVICE_HOST", "10.0.0.1"}}), "/exporter-x7k2p");
}

TEST(Flags, NamesAliasesAndVariablesAreUnique) {
  std::set<std::string_view> seen;
  for (const Flag& flag : FlagTable()) {
    for (const std::string_view name : {flag.name, flag.alias, flag.variable, flag.other_name}) {
      EXPECT_TRUE(name.empty() || seen.insert(name).second) << name;
    }
    EXPECT_TRUE(flag.help.ends_with('.')) << flag.name;
  }
}

TEST(Flags, AcceptFlagsOfDcgmExporterWithoutEffectAndWarn) {
  const auto quiet =
      Parse({"--disable-startup-validate", "--enable-gpu-bind-unbind-watch",
             "--gpu-bind-unbind-poll-interval=soon", "-m", "none", "--enable-pprof=false"});
  ASSERT_TRUE(quiet.ok()) << quiet.status();
  EXPECT_TRUE(FlagWarnings(*quiet).empty());
  const auto idle = Parse({"--fake-gpus", "--enable-pprof"});
  ASSERT_TRUE(idle.ok()) << idle.status();
  const std::vector<std::string> warnings = FlagWarnings(*idle);
  ASSERT_EQ(warnings.size(), 2U);
  EXPECT_EQ(warnings[0].find("--fake-gpus has no effect: podgpu does not simulate devices"), 0U);
  EXPECT_TRUE(warnings[1].starts_with("--enable-pprof has no effect"));
}

TEST(Flags, RequireALogLevelOfDcgmForItsLog) {
  EXPECT_EQ(Parse({"--enable-dcgm-log", "--dcgm-log-level=DEBUG"})->dcgm_log_level, "DEBUG");
  EXPECT_FALSE(Parse({"--dcgm-log-level=debug"}).ok()) << "as upstream, even when it is off";
}

}  // namespace
}  // namespace podgpu
