"""Manifests for Kubernetes and wasmCloud: their schemas, and whether they agree with each other and with the program."""

from __future__ import annotations

import copy
import shutil
import tempfile
from pathlib import Path

import jsonschema
import kubernetes_validate
import yaml

from common import (
    DEPLOY, Document, Failed, Skipped, document, documents, expect, image_configuration, is_below, memory_of, output, refuses,
    seconds_after_shutdown, tool,
)

# Versions of the schemas: the newest that the package has, and an older one.
VERSIONS = ["1.34", "1.37"]
KINDS = [
    "ConfigMap", "HorizontalPodAutoscaler", "Ingress", "Namespace", "NetworkPolicy", "PersistentVolumeClaim",
    "PersistentVolumeClaim", "PodDisruptionBudget", "Service", "Service", "StatefulSet",
]
UNITS = {"Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30}


class Rendered:
    """The objects that kustomize makes."""

    def __init__(self, text: str) -> None:
        self.documents = documents(text)

    def only(self, kind: str, name: str | None = None) -> Document:
        found = [each for each in self.documents if each["kind"] == kind and name in (None, each["metadata"]["name"])]
        expect(len(found) == 1, f"there are {len(found)} objects of the kind {kind} with the name {name}")
        return found[0]

    @property
    def configuration(self) -> Document:
        return yaml.safe_load(self.only("ConfigMap")["data"]["serve.yaml"])

    @property
    def pod(self) -> Document:
        return self.only("StatefulSet")["spec"]["template"]["spec"]


def rendered(name: str) -> Rendered:
    """Renders a kustomization. The certificate of the example is not in the repository."""
    kubectl = tool("kubectl")
    with tempfile.TemporaryDirectory() as home:
        copied = Path(home) / "kubernetes"
        shutil.copytree(DEPLOY / "kubernetes", copied)
        certificate(copied / "example", "files.example.org")
        return Rendered(output(kubectl, "kustomize", copied / name))


def certificate(directory: Path, name: str) -> None:
    """Makes `tls.crt` and `tls.key`."""
    kind = ["-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1"]
    files = ["-keyout", directory / "tls.key", "-out", directory / "tls.crt"]
    output(tool("openssl"), "req", *kind, *files, "-subj", f"/CN={name}", "-addext", f"subjectAltName=DNS:{name}")


def base_has_valid_schema() -> str:
    found = rendered("base")
    kinds = sorted(each["kind"] for each in found.documents)
    expect(kinds == KINDS, f"the kinds are {kinds}")
    return has_valid_schema(found.documents)


def example_has_valid_schema() -> str:
    found = rendered("example")
    kinds = sorted(each["kind"] for each in found.documents)
    expect(kinds == sorted([*KINDS, "Secret"]), f"the kinds are {kinds}")
    named = found.only("Ingress")["spec"]["tls"][0]["secretName"]
    expect(named == found.only("Secret")["metadata"]["name"], f"the Ingress names the Secret {named}")
    return has_valid_schema(found.documents)


def has_valid_schema(objects: list[Document]) -> str:
    for version in VERSIONS:
        for each in objects:
            kubernetes_validate.validate(each, version, strict=True)
            try:
                kubernetes_validate.validate(each | {"unknown": 1}, version, strict=True)
            except kubernetes_validate.ValidationError:
                continue
            raise Failed(f"the schema of {each['kind']} accepts an unknown member")
    return f"{len(objects)} objects, schemas of Kubernetes {' and '.join(VERSIONS)}"


def pod_is_restricted() -> str:
    """Checks the rules of the Pod Security Standard `restricted` that apply to what the pod has."""
    pod = rendered("base").pod
    expect(not broken(pod), f"the pod breaks these rules: {broken(pod)}")
    for loosen in [
        lambda pod: pod["securityContext"].update(runAsNonRoot=False),
        lambda pod: pod["securityContext"].pop("seccompProfile"),
        lambda pod: pod["containers"][0]["securityContext"].update(allowPrivilegeEscalation=True),
        lambda pod: pod["containers"][0]["securityContext"]["capabilities"].update(add=["NET_ADMIN"]),
        lambda pod: pod["containers"][0]["securityContext"].update(readOnlyRootFilesystem=False),
        lambda pod: pod["volumes"].append({"name": "host", "hostPath": {"path": "/"}}),
        lambda pod: pod.update(hostNetwork=True),
    ]:
        loose = copy.deepcopy(pod)
        loosen(loose)
        expect(broken(loose), "a looser pod passes the same rules")
    return "and each of 7 looser pods fails"


def broken(pod: Document) -> list[str]:
    rules = {"host namespaces": any(pod.get(name) for name in ["hostNetwork", "hostPID", "hostIPC"])}
    kinds = {"configMap", "emptyDir", "persistentVolumeClaim", "secret", "projected"}
    rules["kinds of volumes"] = any(set(volume) - {"name"} - kinds for volume in pod["volumes"])
    of_pod = pod["securityContext"]
    rules["user"] = not of_pod.get("runAsNonRoot") or not of_pod.get("runAsUser")
    rules["seccomp"] = of_pod.get("seccompProfile") != {"type": "RuntimeDefault"}
    rules["token of the service account"] = pod.get("automountServiceAccountToken") is not False
    for container in pod["containers"]:
        own = container["securityContext"]
        rules["privileges"] = own.get("privileged") or own.get("allowPrivilegeEscalation") is not False
        rules["capabilities"] = own["capabilities"] != {"drop": ["ALL"]}
        rules["root file system"] = own.get("readOnlyRootFilesystem") is not True
    return [name for name, is_broken in rules.items() if is_broken]


def base_agrees() -> str:
    return agrees(rendered("base"))


def example_agrees() -> str:
    found = rendered("example")
    claims = [each for each in found.documents if each["kind"] == "PersistentVolumeClaim"]
    expect(all(claim["spec"]["storageClassName"] for claim in claims), "a claim has no class")
    return agrees(found)


def agrees(found: Rendered) -> str:
    """Checks that objects name each other rightly, and that figures fit the configuration of the server."""
    configuration, pod, server = found.configuration, found.pod, found.only("StatefulSet")
    (container,) = pod["containers"]
    labels = server["spec"]["template"]["metadata"]["labels"]
    selectors = [each["spec"]["selector"]["matchLabels"] for each in [server, found.only("PodDisruptionBudget")]]
    selectors += [each["spec"]["selector"] for each in found.documents if each["kind"] == "Service"]
    selectors += [spread["labelSelector"]["matchLabels"] for spread in pod["topologySpreadConstraints"]]
    policy = found.only("NetworkPolicy")["spec"]
    selectors.append(policy["podSelector"]["matchLabels"])
    fit = all(selector and selector.items() <= labels.items() for selector in selectors)
    expect(fit, f"selectors {selectors}, labels {labels}")
    expect("Egress" in policy["policyTypes"] and not policy.get("egress"), "the server may open connections")

    port = int(configuration["listen"].rsplit(":", 1)[1])
    expect(container["ports"] == [{"name": "http", "containerPort": port}], "the container has another port than serve.yaml")
    probes = {name: container[name]["httpGet"]["path"] for name in ["startupProbe", "livenessProbe", "readinessProbe"]}
    expect(probes == {"startupProbe": "/readyz", "livenessProbe": "/healthz", "readinessProbe": "/readyz"}, f"probes {probes}")
    for path in found.only("Ingress")["spec"]["rules"][0]["http"]["paths"]:
        expect(not "/metrics".startswith(path["path"]), f"the Ingress shows the counters: {path}")

    grace = pod["terminationGracePeriodSeconds"]
    needed = container["lifecycle"]["preStop"]["sleep"]["seconds"] + configuration["limits"]["shutdown_ms"] / 1000
    needed += seconds_after_shutdown()
    expect(grace > needed, f"terminationGracePeriodSeconds is {grace}, a shutdown takes up to {needed} s")
    limits = container["resources"]["limits"]
    needed = memory_of(configuration, int(limits["cpu"])) + (256 << 20)
    memory = int(limits["memory"][:-2]) * UNITS[limits["memory"][-2:]]
    expect(memory >= needed, f"the limit of memory is {memory}, the calls may take {needed} bytes")

    volumes(found)
    scaling(found)
    return "names, hosts, ports, volumes, time of a shutdown, memory, metric"


def volumes(found: Rendered) -> None:
    configuration, pod = found.configuration, found.pod
    names = {(each["kind"], each["metadata"]["name"]) for each in found.documents}
    kinds = {}
    for volume in pod["volumes"]:
        if claim := volume.get("persistentVolumeClaim"):
            expect(("PersistentVolumeClaim", claim["claimName"]) in names, f"there is no claim {claim}")
        if source := volume.get("configMap"):
            expect(("ConfigMap", source["name"]) in names, f"there is no ConfigMap {source}")
        kinds[volume["name"]] = next(kind for kind in volume if kind != "name")
    mounts = {mount["mountPath"]: kinds[mount["name"]] for mount in pod["containers"][0]["volumeMounts"]}

    def kind_of(path: str) -> str | None:
        return next((kind for mount, kind in mounts.items() if is_below(path, mount)), None)

    variables = image_configuration()
    lasting = [configuration["state_dir"], configuration["audit_dir"], variables["PADDOCK_STATE_DIR"]]
    lasting += [template["root"] for template in configuration["templates"]]
    for path in lasting:
        expect(kind_of(path) == "persistentVolumeClaim", f"`{path}` is on no volume that replicas share")
    expect(kind_of(variables["PADDOCK_CACHE_DIR"]) == "emptyDir", "the cache is on no volume of the pod's own")
    roots = [template["root"].removesuffix("/{name}") for template in configuration["templates"]]
    own = [configuration["state_dir"], configuration["audit_dir"], *variables.values()]
    expect(not any(is_below(path, root) for root in roots for path in own), "a directory of the server is in a workspace")


def scaling(found: Rendered) -> None:
    configuration, server = found.configuration, found.only("StatefulSet")
    scaler = found.only("HorizontalPodAutoscaler")["spec"]
    target = {name: scaler["scaleTargetRef"][name] for name in ["kind", "apiVersion"]}
    expect(target == {name: server[name] for name in target}, "the autoscaler has another target")
    expect("replicas" not in server["spec"], "the manifest and the autoscaler both set the replicas")
    space, headless = server["metadata"]["namespace"], server["spec"]["serviceName"]
    expect(found.only("Service", headless)["spec"]["clusterIP"] == "None", f"the Service {headless} has no names for pods")
    pods = {f"{server['metadata']['name']}-{index}.{headless}.{space}.svc" for index in range(scaler["maxReplicas"])}
    hosts = {rule["host"] for rule in found.only("Ingress")["spec"]["rules"]} | {f"paddock.{space}.svc"} | pods
    expect(hosts <= set(configuration["hosts"]), f"`hosts` lacks {hosts - set(configuration['hosts'])}")
    (metric,) = [each["pods"] for each in scaler["metrics"] if each["type"] == "Pods"]
    expect(configuration["metrics"] is True, "the counters are not published")
    is_early = 0 < int(metric["target"]["averageValue"]) < configuration["limits"]["max_calls"]
    expect(is_early, "calls are refused before a replica is added")
    (rule,) = document(DEPLOY / "kubernetes/prometheus/adapter.yaml")["rules"]
    expect(rule["seriesQuery"].startswith(metric["metric"]["name"] + "{"), "the adapter provides another metric")
    (job,) = document(DEPLOY / "kubernetes/prometheus/scrape.yaml")["scrape_configs"]
    (address,) = [each for each in job["relabel_configs"] if each.get("target_label") == "__address__"]
    names = [f"{server['metadata']['name']}-{index}" for index in range(scaler["maxReplicas"])]
    addresses = {address["replacement"].replace("$1", name) for name in names}
    expect({each.rsplit(":", 1)[0] for each in addresses} == pods, f"Prometheus asks {addresses}")


def scaled_metric() -> str:
    """Returns the name of the autoscaler's metric."""
    metrics = document(DEPLOY / "kubernetes/base/autoscaler.yaml")["spec"]["metrics"]
    return next(each["pods"]["metric"]["name"] for each in metrics if each["type"] == "Pods")


def prometheus_takes_the_scrape() -> str:
    """Checks the job of Prometheus. The program of Debian cannot look for pods, so that this part is left out."""
    promtool = tool("promtool")
    scrape = document(DEPLOY / "kubernetes/prometheus/scrape.yaml")
    (job,) = scrape["scrape_configs"]
    del job["kubernetes_sd_configs"]
    with tempfile.TemporaryDirectory() as home:
        file = Path(home) / "prometheus.yaml"
        file.write_text(yaml.safe_dump(scrape))
        output(promtool, "check", "config", file)
        job["relabel_configs"][0]["action"] = "kepe"
        file.write_text(yaml.safe_dump(scrape))
        refuses(promtool, "check", "config", file)
    return output(promtool, "--version").splitlines()[0] + ", without `kubernetes_sd_configs`"


# wasmCloud.


def workload_has_valid_schema(crd: Path | None) -> str:
    objects = documents((DEPLOY / "wasmcloud/workload.yaml").read_text())
    (workload,) = [each for each in objects if each["kind"] == "WorkloadDeployment"]
    has_valid_schema([each for each in objects if each is not workload])
    if not crd:
        raise Skipped("no package has the definition of WorkloadDeployment, and --wasmcloud-crd does not name its file")
    (definition,) = documents(crd.read_text())
    group, name = workload["apiVersion"].split("/")
    expect(definition["spec"]["group"] == group, f"{crd} defines another group")
    (version,) = [each for each in definition["spec"]["versions"] if each["name"] == name and each["served"]]
    validator = jsonschema.Draft202012Validator(closed(version["schema"]["openAPIV3Schema"]))
    errors = [f"{error.json_path}: {error.message}" for error in validator.iter_errors(workload)]
    expect(not errors, "; ".join(errors))
    wrong = copy.deepcopy(workload)
    wrong["spec"]["template"]["spec"]["volumes"][0]["hostPath"] = {"paht": "/"}
    expect(len(list(validator.iter_errors(wrong))) == 2, "the schema accepts an unknown member")
    return f"{definition['metadata']['name']} {name}"


def closed(schema: Document) -> Document:
    """Forbids unknown members, which the API server removes without an error, except in `metadata`."""
    closed_schema = {name: value for name, value in schema.items() if not name.startswith("x-")}
    if properties := schema.get("properties"):
        closed_schema["properties"] = {name: closed(each) for name, each in properties.items()}
        closed_schema.setdefault("additionalProperties", False)
    if isinstance(items := schema.get("items"), dict):
        closed_schema["items"] = closed(items)
    return closed_schema


def workload_agrees() -> str:
    objects = documents((DEPLOY / "wasmcloud/workload.yaml").read_text())
    (workload,) = [each for each in objects if each["kind"] == "WorkloadDeployment"]
    spec = workload["spec"]["template"]["spec"]
    (component,) = spec["components"]
    mounts = {mount["mountPath"]: mount["name"] for mount in component["localResources"]["volumeMounts"]}
    expect(set(mounts) == {"/workspace", "/paddock-state"}, f"the component gets {mounts}")
    paths = {volume["name"]: volume["hostPath"]["path"] for volume in spec["volumes"]}
    expect(set(paths) == set(mounts.values()), "a mount has no volume")
    workspace, state = (paths[mounts[mount]] for mount in ["/workspace", "/paddock-state"])
    expect(not is_below(state, workspace) and not is_below(workspace, state), "one volume is inside of the other")
    (interface,) = spec["hostInterfaces"]
    host = component["localResources"]["environment"]["config"]["PADDOCK_HOSTS"]
    expect(interface["config"]["host"] == host, "the engine and the component expect different hosts")
    return "volumes, hosts"
