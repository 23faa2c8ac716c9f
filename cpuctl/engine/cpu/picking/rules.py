"""How a release's CPU pickers differ from those of v1.36, before and after it."""

from cpuctl.kubelet.releases.behaviours import Behaviours
from cpuctl.records import Record


class PickerRules(Record):
    """One field per difference; the defaults are v1.36. Numbers are kubernetes pull requests.

    ``align_by_socket``: distribution prefers node combinations inside one socket (139778, from 1.37, with
    the policy option of that name); ``limits_share``: a node never owes more than its whole groups (139778,
    from 1.37); ``hint_floor``: the topology hint's width is the fewest nodes to distribute over (139456,
    from 1.38); ``spreads_over_cores``: spread ordering goes round the real cores (140766, from 1.38);
    ``counts_whole_groups``: a remainder set must hold whole groups enough (140730, from 1.38);
    ``copies_combinations``: the best combination is not overwritten by later ones (141238, from 1.38);
    ``odd_requests_fit_caches``: half a core more is looked at for an odd number of CPUs (131850, from 1.34);
    ``tells_figures``: the error about too few CPUs says how many (from 1.29).
    """

    align_by_socket: bool = False
    limits_share: bool = False
    hint_floor: bool = False
    spreads_over_cores: bool = False
    counts_whole_groups: bool = False
    copies_combinations: bool = False
    odd_requests_fit_caches: bool = True
    tells_figures: bool = True


V1_36 = PickerRules()


def picker_rules(release: Behaviours, *, align_by_socket: bool = False) -> PickerRules:
    """Choose the rules of a release; *align_by_socket* says whether that policy option is on."""
    return PickerRules(
        align_by_socket=align_by_socket and release.aligns_distribution_to_sockets,
        limits_share=release.limits_shares_to_whole_groups,
        hint_floor=release.floors_distribution_by_hint,
        spreads_over_cores=release.spreads_over_real_cores,
        counts_whole_groups=release.counts_whole_groups,
        copies_combinations=release.copies_combinations,
        odd_requests_fit_caches=release.odd_requests_fit_caches,
        tells_figures=release.tells_how_many_cpus_are_missing,
    )
