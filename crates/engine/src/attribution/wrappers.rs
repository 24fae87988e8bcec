//! Functions that only flush or fence: a finding is shown at the line that calls them.

use std::collections::BTreeSet;

/// Flushes and fences of compilers, of PMDK and of published programs, by their usual names.
const KNOWN: [&str; 43] = [
    "asm_clflush",
    "asm_clflushopt",
    "asm_clwb",
    "asm_mfence",
    "asm_sfence",
    "clflush",
    "clflush_range",
    "clflushopt",
    "clwb",
    "fence",
    "flush",
    "flush_clflush",
    "flush_clflush_nolog",
    "flush_clflushopt",
    "flush_clflushopt_nolog",
    "flush_clwb",
    "flush_clwb_nolog",
    "flush_line",
    "flush_range",
    "memory_barrier",
    "mfence",
    "msync",
    "persist",
    "pm_fence",
    "pm_flush",
    "pm_persist",
    "pmem_deep_flush",
    "pmem_deep_persist",
    "pmem_drain",
    "pmem_flush",
    "pmem_msync",
    "pmem_persist",
    "pmemobj_drain",
    "pmemobj_flush",
    "pmemobj_persist",
    "pmemobj_xflush",
    "pmemobj_xpersist",
    "pmemops_drain",
    "pmemops_flush",
    "pmemops_persist",
    "pmemops_xflush",
    "pmemops_xpersist",
    "sfence",
];

/// The known names, and those of the user.
pub fn all(further: &[String]) -> BTreeSet<String> {
    KNOWN.iter().map(|name| (*name).to_owned()).chain(further.iter().cloned()).collect()
}
