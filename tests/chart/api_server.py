"""A Kubernetes API server that knows a few objects, for Helm's lookup and its notes.

api_server.py FOLDER [GROUP/VERSION...]: serves FOLDER/<path with _ for />.json for GET and 404 for other objects, on a port
that the kernel chooses; prints "listening on PORT". It ends when its standard input does. The groups are those of INSTALLED
that this cluster has too.
"""

import http.server
import json
import pathlib
import sys
import threading

# Group and version, and its kinds: (resource, kind, in a namespace).
KINDS = {
    "v1": [
        ("configmaps", "ConfigMap", True),
        ("pods", "Pod", True),
        ("resourcequotas", "ResourceQuota", True),
        ("secrets", "Secret", True),
        ("serviceaccounts", "ServiceAccount", True),
        ("services", "Service", True),
    ],
    "apiregistration.k8s.io/v1": [("apiservices", "APIService", False)],
    "apps/v1": [("daemonsets", "DaemonSet", True), ("deployments", "Deployment", True)],
    "rbac.authorization.k8s.io/v1": [
        ("clusterroles", "ClusterRole", False),
        ("clusterrolebindings", "ClusterRoleBinding", False),
        ("roles", "Role", True),
        ("rolebindings", "RoleBinding", True),
    ],
}

# Groups that a cluster has only if someone installs them.
INSTALLED = {
    "monitoring.coreos.com/v1": [
        ("prometheusrules", "PrometheusRule", True),
        ("servicemonitors", "ServiceMonitor", True),
    ],
}


def groups():
    """The list of groups, without the core group."""
    listed = []
    for name in KINDS:
        if "/" in name:
            version = {"groupVersion": name, "version": name.split("/")[1]}
            listed.append({"name": name.split("/")[0], "versions": [version], "preferredVersion": version})
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": listed}


def resources(name):
    """The kinds of one group and version."""
    kinds = [
        {"name": plural, "singularName": "", "kind": kind, "namespaced": namespaced, "verbs": ["get", "list"]}
        for plural, kind, namespaced in KINDS[name]
    ]
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": name, "resources": kinds}


def answer(folder, path):
    """The object at a path, or None."""
    if path == "/version":
        return {"major": "1", "minor": "34", "gitVersion": "v1.34.0"}
    if path == "/api":
        return {"kind": "APIVersions", "versions": ["v1"]}
    if path == "/apis":
        return groups()
    name = path.removeprefix("/apis/").removeprefix("/api/")
    if name in KINDS:
        return resources(name)
    file = pathlib.Path(folder) / (path.strip("/").replace("/", "_") + ".json")
    return json.loads(file.read_text()) if file.exists() else None


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers GET."""

    folder = ""

    def do_GET(self):
        """One request."""
        found = answer(self.folder, self.path.split("?")[0])
        missing = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404}
        body = json.dumps(missing if found is None else found).encode()
        self.send_response(404 if found is None else 200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format, *args):
        """Prints nothing."""


def main():
    """Serves until standard input ends."""
    Handler.folder = sys.argv[1]
    KINDS.update({name: INSTALLED[name] for name in sys.argv[2:]})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(f"listening on {server.server_address[1]}", flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
