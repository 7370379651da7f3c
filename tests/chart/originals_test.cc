// What the users of the programs before have in their clusters (tests/chart/originals), and the
// plain manifests that replace it. `kubectl apply` and `replace` update the same objects, pods of
// before and now are behind the same Services, and so no target of Prometheus is lost.
#include <algorithm>
#include <filesystem>
#include <iterator>
#include <ostream>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "tests/chart/helm.h"

namespace podgpu {
namespace {

constexpr char kPodLabels[] = "spec/template/metadata/labels";
constexpr char kPod[] = "spec/template/spec";

// A file of tests/chart/originals, and the files or folders of deploy/manifests that replace it.
struct Migration {
  std::string original;
  std::vector<std::string> files;

  friend std::ostream& operator<<(std::ostream& out, const Migration& migration) {
    return out << migration.original;
  }
};

const std::vector<Migration>& Migrations() {
  static const std::vector<Migration> kMigrations = {
      {"my-gpu-exporter", {"my-gpu-exporter"}},
      {"my-gpu-exporter-openshift", {"my-gpu-exporter/openshift"}},
      {"pod-gpu-metrics-exporter",
       {"pod-gpu-metrics-exporter/prometheus",
        "pod-gpu-metrics-exporter/pod-gpu-metrics-exporter-daemonset.yaml"}},
      {"gpu-node-exporter", {"pod-gpu-metrics-exporter/gpu-node-exporter-daemonset.yaml"}},
      {"gpu-only-node-exporter",
       {"pod-gpu-metrics-exporter/gpu-only-node-exporter-daemonset.yaml"}},
      {"pod-gpu-node-exporter", {"pod-gpu-metrics-exporter/pod-gpu-node-exporter-daemonset.yaml"}},
      {"gpu-utilization-exporter", {"gpu-utilization-exporter"}}};
  return kMigrations;
}

// The objects of a file, or of the files of a folder; without values of a chart.
std::vector<YAML::Node> ObjectsAt(const std::filesystem::path& path) {
  std::vector<std::filesystem::path> files = {path};
  if (std::filesystem::is_directory(path)) {
    files.clear();
    for (const auto& entry : std::filesystem::directory_iterator(path)) {
      if (entry.path().extension() == ".yaml") {
        files.push_back(entry.path());
      }
    }
  }
  std::vector<YAML::Node> objects;
  for (const std::filesystem::path& file : files) {
    for (const YAML::Node& object : YAML::LoadAllFromFile(file.string())) {
      if (object.IsMap() && object["kind"].IsDefined()) {
        objects.push_back(object);
      }
    }
  }
  return objects;
}

std::string NameOf(const YAML::Node& object) {
  return TextAt(object, "kind") + " " + TextAt(object, "metadata/namespace") + "/" +
         TextAt(object, "metadata/name");
}

// The entries "key=value" of a map.
std::set<std::string> Entries(const YAML::Node& object, std::string_view path) {
  std::set<std::string> entries;
  for (const auto& entry : YAML::Load(TextAt(object, path))) {
    entries.insert(entry.first.Scalar() + "=" + TextAt(entry.second, ""));
  }
  return entries;
}

bool Contains(const std::set<std::string>& all, const std::set<std::string>& some) {
  return std::ranges::includes(all, some);
}

// "name number" of each port of the containers, and "host number" of those of the node.
std::set<std::string> PortsOfPods(const YAML::Node& workload) {
  const bool is_on_host = TextAt(workload, std::string(kPod) + "/hostNetwork") == "true";
  std::set<std::string> ports;
  for (const YAML::Node& container : workload["spec"]["template"]["spec"]["containers"]) {
    for (const YAML::Node& port : container["ports"]) {
      const std::string number = TextAt(port, "containerPort");
      if (const std::string name = TextAt(port, "name"); !name.empty()) {
        ports.insert(name + " " + number);
      }
      if (is_on_host || !TextAt(port, "hostPort").empty()) {
        ports.insert("host " + number);
      }
    }
  }
  return ports;
}

std::set<std::string> PortsOfService(const YAML::Node& service) {
  std::set<std::string> ports;
  for (const YAML::Node& port : service["spec"]["ports"]) {
    ports.insert(TextAt(port, "name") + " " + TextAt(port, "port"));
  }
  return ports;
}

// Whether a toleration is for all taints of `wanted`; without a key or an effect it is for every
// one.
bool Covers(const YAML::Node& toleration, const YAML::Node& wanted) {
  const auto covers = [&](const char* field) {
    const std::string here = TextAt(toleration, field);
    return here.empty() || here == TextAt(wanted, field);
  };
  return TextAt(toleration, "operator") == "Exists" && covers("key") && covers("effect");
}

// "" stands for all.
std::set<std::string> ToleratedKeys(const YAML::Node& workload) {
  std::set<std::string> keys;
  for (const YAML::Node& toleration : workload["spec"]["template"]["spec"]["tolerations"]) {
    keys.insert(TextAt(toleration, "key"));
  }
  return keys;
}

class Originals : public ::testing::TestWithParam<Migration> {
 protected:
  Originals() : before_(ObjectsAt("tests/chart/originals/" + GetParam().original + ".yaml")) {
    for (const std::string& file : GetParam().files) {
      std::ranges::move(ObjectsAt("deploy/manifests/" + file), std::back_inserter(now_));
    }
  }

  // The object of the manifests that updates `original`; undefined if there is none.
  YAML::Node UpdateOf(const YAML::Node& original) const {
    const auto found = std::ranges::find(now_, NameOf(original), NameOf);
    return found == now_.end() ? YAML::Node(YAML::NodeType::Undefined) : *found;
  }

  // Calls `check` with each original of one of the kinds (none: every kind) and its update.
  template <typename Check>
  void ForEach(const std::set<std::string>& kinds, const Check& check) const {
    for (const YAML::Node& original : before_) {
      const YAML::Node update = UpdateOf(original);
      if (update.IsDefined() && (kinds.empty() || kinds.contains(TextAt(original, "kind")))) {
        SCOPED_TRACE(NameOf(original));
        check(original, update);
      }
    }
  }

  std::vector<YAML::Node> before_, now_;
};

TEST_P(Originals, AreUpdatedUnderTheirNamesAndInTheirNamespaces) {
  EXPECT_FALSE(before_.empty());
  for (const YAML::Node& original : before_) {
    EXPECT_TRUE(UpdateOf(original).IsDefined()) << NameOf(original);
  }
}

TEST_P(Originals, KeepTheSelectorThatKubernetesDoesNotLetChange) {
  ForEach({"DaemonSet", "Deployment"}, [](const YAML::Node& before, const YAML::Node& now) {
    EXPECT_EQ(Entries(now, "spec/selector/matchLabels"),
              Entries(before, "spec/selector/matchLabels"));
    EXPECT_TRUE(Contains(Entries(now, kPodLabels), Entries(before, kPodLabels)));
  });
}

TEST_P(Originals, KeepTheNamesAndNumbersOfPorts) {
  ForEach({"DaemonSet", "Deployment"}, [](const YAML::Node& before, const YAML::Node& now) {
    EXPECT_TRUE(Contains(PortsOfPods(now), PortsOfPods(before)))
        << ::testing::PrintToString(PortsOfPods(now));
  });
  ForEach({"Service"}, [](const YAML::Node& before, const YAML::Node& now) {
    EXPECT_TRUE(Contains(PortsOfService(now), PortsOfService(before)));
  });
}

TEST_P(Originals, RunOnTheSameNodes) {
  ForEach({"DaemonSet"}, [](const YAML::Node& before, const YAML::Node& now) {
    const std::string nodes = std::string(kPod) + "/nodeSelector";
    EXPECT_EQ(TextAt(now, nodes), TextAt(before, nodes));
    for (const YAML::Node& wanted : before["spec"]["template"]["spec"]["tolerations"]) {
      const YAML::Node tolerations = now["spec"]["template"]["spec"]["tolerations"];
      EXPECT_TRUE(std::any_of(tolerations.begin(), tolerations.end(), [&](const YAML::Node& one) {
        return Covers(one, wanted);
      })) << TextAt(wanted, "");
    }
    for (const std::string& key : ToleratedKeys(now)) {
      EXPECT_TRUE(ToleratedKeys(before).contains(key) || ToleratedKeys(before).contains(""))
          << key << ": pods would run on nodes that had none";
    }
  });
}

TEST_P(Originals, ServicesFindThePodsOfBeforeAndNow) {
  for (const YAML::Node& service : now_) {
    if (TextAt(service, "kind") != "Service") {
      continue;
    }
    const std::set<std::string> selector = Entries(service, "spec/selector");
    const auto finds = [&](const std::vector<YAML::Node>& objects) {
      return std::ranges::any_of(objects, [&](const YAML::Node& workload) {
        return workload["spec"].IsDefined() && workload["spec"]["template"].IsDefined() &&
               Contains(Entries(workload, kPodLabels), selector);
      });
    };
    EXPECT_TRUE(finds(before_)) << NameOf(service);
    EXPECT_TRUE(finds(now_)) << NameOf(service);
  }
}

TEST_P(Originals, MonitorsFindTheServicesOfBeforeAndNow) {
  ForEach({"ServiceMonitor"}, [&](const YAML::Node& before, const YAML::Node& now) {
    const std::string any = "spec/namespaceSelector/any";
    EXPECT_EQ(TextAt(now, any), TextAt(before, any));
    for (const YAML::Node& monitor : {before, now}) {
      const std::set<std::string> selector = Entries(monitor, "spec/selector/matchLabels");
      for (const auto& objects : {before_, now_}) {
        EXPECT_TRUE(std::ranges::any_of(objects, [&](const YAML::Node& service) {
          return TextAt(service, "kind") == "Service" &&
                 Contains(Entries(service, "metadata/labels"), selector);
        }));
      }
    }
  });
}

// By these annotations Prometheus finds targets without a monitor.
TEST_P(Originals, KeepTheirAnnotations) {
  ForEach({}, [](const YAML::Node& before, const YAML::Node& now) {
    for (const char* path : {"metadata/annotations", "spec/template/metadata/annotations"}) {
      EXPECT_TRUE(Contains(Entries(now, path), Entries(before, path)));
    }
  });
}

INSTANTIATE_TEST_SUITE_P(All, Originals, ::testing::ValuesIn(Migrations()), [](const auto& one) {
  std::string name = one.param.original;
  std::ranges::replace(name, '-', '_');
  return name;
});

}  // namespace
}  // namespace podgpu
