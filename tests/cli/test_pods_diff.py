

def test_an_unsupported_release_is_attributed_to_its_option(cpuctl: Cpuctl) -> None:
    refused = cpuctl("pods", "diff", "fixtures/pods/web.yaml", "--to", "1.25")
    assert refused.err.startswith("error: --to: kubelet 1.25 is not supported: ")
