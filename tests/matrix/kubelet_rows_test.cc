// Faults of the kubelet's socket, on the same node as the vendor's calls.
//
// Whatever the kubelet does, device values stay as fresh as on a healthy node; only owners become
// old.
#include <filesystem>
#include <memory>
#include <string>
#include <sys/socket.h>
#include <sys/un.h>
#include <vector>

#include <gtest/gtest.h>

#include "base/file_descriptor.h"
#include "base/testing/temporary_folder.h"
#include "kube/kubelet_client.h"
#include "kube/testing/fake_kubelet_server.h"
#include "pod_resources_v1.pb.h"
#include "tests/matrix/dcgm_vendor.h"
#include "tests/matrix/fault_case.h"
#include "tests/matrix/totals.h"

namespace podgpu {
namespace {

using std::chrono::milliseconds;

constexpr size_t kLimitBytes = size_t{17} << 20;

std::string Frame(const std::string& message) {
  std::string frame(1, '\0');
  for (const unsigned shift : {24U, 16U, 8U, 0U}) {
    frame += static_cast<char>(message.size() >> shift & 0xFFU);
  }
  return frame + message;
}

// The answer of the fake kubelet of the reference pages, with `padding` bytes in a pod that has no
// device.
std::string Answer(size_t padding = 0) {
  v1::ListPodResourcesResponse response;
  v1::PodResources* pod = response.add_pod_resources();
  pod->set_namespace_("ml");
  pod->set_name("train-0");
  v1::ContainerResources* container = pod->add_containers();
  container->set_name("main");
  v1::ContainerDevices* devices = container->add_devices();
  devices->set_resource_name("nvidia.com/gpu");
  devices->add_device_ids("GPU-0");
  if (padding > 0) {
    response.add_pod_resources()->set_name(std::string(padding, 'p'));
  }
  return response.SerializeAsString();
}

FakeKubeletServer::Script Saying(std::string message) {
  return [body = Frame(message)](const std::string&) {
    FakeReply reply;
    reply.body = body;
    return reply;
  };
}

void AwaitEnd(int socket) {
  char bytes[4096];
  while (::recv(socket, bytes, sizeof bytes, 0) > 0) {
  }
}

void Reset(int socket) {
  const linger at_once{.l_onoff = 1, .l_linger = 0};
  ::setsockopt(socket, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
}

void HalfClose(int socket) {
  ::shutdown(socket, SHUT_WR);
  AwaitEnd(socket);
}

void Trickle(int socket) {
  ::send(socket, "\0", 1, MSG_NOSIGNAL);  // The first byte of a frame; the rest never comes.
  AwaitEnd(socket);
}

void Garble(int socket) {
  const std::string bytes(4096, '\xa5');
  ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  AwaitEnd(socket);
}

struct KubeletFault {
  std::string name;
  FakeKubeletServer::RawScript raw;  // Or
  FakeKubeletServer::Script script;  // or neither: no server listens.
  bool answers = false;              // Not a fault.
  std::string words;                 // The words of the status page.
};

std::vector<KubeletFault> Faults() {
  return {
      {"refuses", nullptr, nullptr, false, "refuses connections"},
      {"resets", Reset, nullptr, false, "kubelet.sock"},
      {"closes its half", HalfClose, nullptr, false, "kubelet.sock"},
      {"trickles", Trickle, nullptr, false, "has not answered for"},
      {"sends garbage", Garble, nullptr, false, "kubelet.sock"},
      {"sends no message", nullptr, Saying("\xff\xff\xff no protobuf"), false, "kubelet.sock"},
      {"sends 16 MiB", nullptr, Saying(Answer(size_t{16} << 20)), true, "answers: 2 pods"},
      {"sends more than the limit", nullptr, Saying(Answer(kLimitBytes)), false, "kubelet.sock"},
      {"never answers", AwaitEnd, nullptr, false, "has not answered for"},
  };
}

class KubeletRows : public ::testing::Test {
 protected:
  KubeletRows() {
    socket_ = folder_.path() + "/kubelet.sock";
    // After the kubelet is back, its list is valid as soon as it has podgpu's own pod.
    client_ = MakeKubeletClient({.socket = socket_,
                                 .timeout = milliseconds(3'000),
                                 .max_message_bytes = kLimitBytes,
                                 .own_pod = {.name = "train-0", .name_space = "ml"}});
  }

  // One server at a time, so the number of threads stays the same.
  void Serve(const FakeKubeletServer::RawScript& raw, const FakeKubeletServer::Script& script) {
    server_.reset();
    deaf_ = FileDescriptor();
    std::filesystem::remove(socket_);
    if (raw != nullptr) {
      server_ = FakeKubeletServer::Raw(socket_, raw);
    } else if (script != nullptr) {
      server_ = std::make_unique<FakeKubeletServer>(socket_, script);
    } else {
      server_ = FakeKubeletServer::Raw(folder_ / "elsewhere", AwaitEnd);
      std::filesystem::remove(folder_ / "elsewhere");
      deaf_ = FileDescriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
      sockaddr_un address{};
      address.sun_family = AF_UNIX;
      socket_.copy(address.sun_path, sizeof address.sun_path - 1);
      ::bind(deaf_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
    }
  }

  void RunFault(MatrixNode& node, const Reference& reference, const KubeletFault& fault) {
    const bool had_failed = HasFailure();
    const HeldResources before = CountsWithoutServer(node);
    Serve(fault.raw, fault.script);
    for (int period = 0; period < 3; ++period) {
      node.Step();
      const auto phase = static_cast<size_t>(node.phase());
      EXPECT_EQ(DeviceLinesOf(node.Page()).measured, reference.pages[0][phase].measured)
          << "device values must not wait for the kubelet";
    }
    const std::string page = node.Fetch("/metrics").body;
    EXPECT_EQ(NumberOf(page, "podgpu_pod_resources_up"), fault.answers ? "1" : "0");
    EXPECT_NE(node.Fetch("/").body.find(fault.words), std::string::npos) << node.Fetch("/").body;
    EXPECT_EQ(node.Fetch("/healthz").status, 200);
    Serve(nullptr, Saying(Answer()));
    EXPECT_TRUE(AwaitHealthy(node, reference, 2));
    EXPECT_EQ(NumberOf(node.Page(), "podgpu_pod_resources_up"), "1");
    const HeldResources after = CountsWithoutServer(node);
    EXPECT_EQ(after.threads, before.threads);
    EXPECT_EQ(after.descriptors, before.descriptors);
    ++Sum().kubelet_cases;
    Sum().failed += !had_failed && HasFailure() ? 1U : 0U;
  }

  // A server closes its end of a connection at some later time; a server that has ended has closed
  // it.
  HeldResources CountsWithoutServer(MatrixNode& node) {
    server_.reset();
    deaf_ = FileDescriptor();
    const HeldResources counts = node.counts();
    Serve(nullptr, Saying(Answer()));
    return counts;
  }

  const TemporaryFolder folder_;
  std::string socket_;
  std::unique_ptr<FakeKubeletServer> server_;
  FileDescriptor deaf_;  // Bound, but no server listens.
  std::unique_ptr<PodResources> client_;
};

TEST_F(KubeletRows, DoNotAffectDeviceValues) {
  const Vendor vendor = DcgmVendor();
  const Reference reference = RecordReference(vendor, 0);
  Serve(nullptr, Saying(Answer()));
  MatrixNode node(vendor, 0, *client_);
  node.clock().NoteOtherThread();  // The thread of the server.
  node.Start();
  ASSERT_TRUE(AwaitHealthy(node, reference, 2));
  node.Fetch("/metrics");  // The open connection counts among the descriptors.
  for (const KubeletFault& fault : Faults()) {
    SCOPED_TRACE("the kubelet " + fault.name);
    RunFault(node, reference, fault);
  }
}

}  // namespace
}  // namespace podgpu
