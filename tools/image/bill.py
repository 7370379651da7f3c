"""Writes the image's bill of materials: bill.py BUILD IMAGE, in the root of the checkout.

The bill is SPDX 2.3 as JSON, IMAGE/licenses/podgpu.spdx.json: every file of the image, and every Debian package whose
code is in it, as a file or inside the program.  The licence texts of these packages are put beside it.
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys

NAME = "podgpu"


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def owner(path):
    """The Debian package of a file; Debian 12 has some files under /lib and some under /usr/lib."""
    path = os.path.realpath(path)
    for place in (path, path.removeprefix("/usr")):
        found = subprocess.run(["dpkg-query", "-S", place], capture_output=True, text=True)
        if found.returncode == 0:
            return found.stdout.split(":")[0]
    sys.exit(f"bill.py: no package has {path}; install its package, so that the bill can name it")


def files_of(image):
    """The regular files of the image, as paths in it."""
    found = []
    for folder, _, names in os.walk(image):
        paths = (os.path.join(folder, name) for name in names)
        found += ["/" + os.path.relpath(path, image) for path in paths if not os.path.islink(path)]
    return sorted(found)


def packages_in_program(build):
    """The packages whose archives or templates were compiled into the program."""
    command = output("ninja", "-C", build, "-t", "commands", NAME).splitlines()[-1]
    archives = set(re.findall(r"(?<!\S)/\S+\.a(?!\S)", command))
    if "-static-libstdc++" in command:
        archives.add(output("g++", "-print-file-name=libstdc++.a").strip())
    headers = ["/usr/include/boost/version.hpp"]
    return sorted({owner(path) for path in sorted(archives) + headers})


def package_entry(name):
    version, architecture, source = output(
        "dpkg-query", "-W", "-f", "${Version}\n${Architecture}\n${source:Package}", name).splitlines()[:3]
    return {
        "SPDXID": f"SPDXRef-Package-{name}",
        "name": name,
        "versionInfo": version,
        "supplier": "Organization: Debian",
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseConcluded": "NOASSERTION",
        "licenseDeclared": "NOASSERTION",
        "licenseComments": f"The licence text is /licenses/{name} in the image.",
        "copyrightText": "NOASSERTION",
        "sourceInfo": f"Debian source package {source}",
        "externalRefs": [{
            "referenceCategory": "PACKAGE-MANAGER",
            "referenceType": "purl",
            "referenceLocator": f"pkg:deb/debian/{name}@{version}?arch={architecture}",
        }],
    }


def file_entry(image, path, number):
    with open(image + path, "rb") as file:
        content = file.read()
    return {
        "SPDXID": f"SPDXRef-File-{number}",
        "fileName": "." + path,
        "checksums": [
            {"algorithm": "SHA1", "checksumValue": hashlib.sha1(content).hexdigest()},
            {"algorithm": "SHA256", "checksumValue": hashlib.sha256(content).hexdigest()},
        ],
        "licenseConcluded": "NOASSERTION",
        "copyrightText": "NOASSERTION",
    }


def own_entry(version):
    return {
        "SPDXID": f"SPDXRef-Package-{NAME}",
        "name": NAME,
        "versionInfo": version,
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseConcluded": "Apache-2.0",
        "licenseDeclared": "Apache-2.0",
        "copyrightText": "NOASSERTION",
    }


def relation(left, kind, right):
    return {"spdxElementId": left, "relationshipType": kind, "relatedSpdxElement": right}


def package_of(path, image):
    """The package that brought a file into the image: ours, or a Debian package."""
    if path.startswith(("/usr/lib", "/usr/lib64")) or path == "/etc/debian_version":
        system = path if os.path.exists(path) else path.removeprefix("/usr")
        return owner(system)
    if path.startswith("/etc/ssl/"):
        return "ca-certificates"  # Its installation made the file; no package lists it.
    name = os.path.basename(path)
    return name if path.startswith("/licenses/") else NAME


def created():
    seconds = os.environ.get("CREATED")
    return seconds or "1970-01-01T00:00:00Z"


def main(build, image):
    with open("CMakeLists.txt", encoding="utf-8") as file:
        version = re.search(r"project\(podgpu VERSION (\S+)", file.read()).group(1)
    inside = packages_in_program(build)
    beside = sorted({package_of(path, image) for path in files_of(image)} - {NAME})
    for name in sorted({*inside, *beside}):
        shutil.copyfile(f"/usr/share/doc/{name}/copyright", f"{image}/licenses/{name}")
        os.chmod(f"{image}/licenses/{name}", 0o644)
    paths = files_of(image)
    files = [file_entry(image, path, number) for number, path in enumerate(paths, 1)]
    own = f"SPDXRef-Package-{NAME}"
    relations = [relation("SPDXRef-DOCUMENT", "DESCRIBES", own)]
    relations += [relation(own, "STATIC_LINK", f"SPDXRef-Package-{name}") for name in inside]
    relations += [relation(own, "DEPENDS_ON", f"SPDXRef-Package-{name}") for name in beside]
    for path, entry in zip(paths, files):
        relations.append(relation(f"SPDXRef-Package-{package_of(path, image)}", "CONTAINS", entry["SPDXID"]))
    digest = hashlib.sha256(json.dumps(files, sort_keys=True).encode()).hexdigest()
    bill = {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"{NAME}-{version}",
        "documentNamespace": f"https://spdx.org/spdxdocs/{NAME}-{version}-{digest[:32]}",
        "creationInfo": {"created": created(), "creators": ["Tool: podgpu-tools/image/bill.py"]},
        "packages": [own_entry(version)] + [package_entry(name) for name in sorted({*inside, *beside})],
        "files": files,
        "relationships": relations,
    }
    path = f"{image}/licenses/{NAME}.spdx.json"
    with open(path, "w", encoding="utf-8") as file:
        json.dump(bill, file, indent=1, sort_keys=True)
        file.write("\n")
    os.chmod(path, 0o644)


main(*sys.argv[1:])
