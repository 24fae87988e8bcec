//! Functions that only flush, fence or copy: a finding is shown at the line that calls them.

use std::collections::BTreeSet;

/// Flushes and fences of compilers, of PMDK and of published programs, by their usual names.
const KNOWN: [&str; 45] = [
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
    "flush_buffer",
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
    "pflush",
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

/// Functions of C that copy or fill memory; none begins with another.
const COPIES: [&str; 19] = [
    "bcopy",
    "bzero",
    "explicit_bzero",
    "memccpy",
    "memcpy",
    "memmove",
    "mempcpy",
    "memset",
    "stpcpy",
    "stpncpy",
    "strcat",
    "strcpy",
    "strlcat",
    "strlcpy",
    "strncat",
    "strncpy",
    "wmemcpy",
    "wmemmove",
    "wmemset",
];

/// What follows the name of a function of C that copies or fills, if `text` begins with one.
fn after_copy(text: &str) -> Option<&str> {
    COPIES.iter().find_map(|copy| text.strip_prefix(copy))
}

/// Whether a function only copies: one of C in any form that a C library has (`__memmove_avx_unaligned_erms`), or one of
/// PMDK (`pmem_memcpy_persist`). In a statically linked program they are its own code.
pub(super) fn copies(function: &str) -> bool {
    let bare = function.trim_start_matches('_');
    let of_pmdk = ["pmem_", "pmem2_", "pmemobj_"].iter().find_map(|library| bare.strip_prefix(library));
    let in_forms = of_pmdk.is_some() || function.starts_with("__");
    is_copy(of_pmdk.unwrap_or(bare), in_forms)
}

/// The same of a function in a source file, if that is known: forms are in files with a similar name.
pub(super) fn copies_in(function: &str, file: Option<&str>) -> bool {
    let in_forms = function.starts_with("__") || file.is_none_or(|file| after_copy(file).is_some());
    is_copy(function.trim_start_matches('_'), in_forms)
}

/// Whether a name is that of a function of C that copies or fills, or, if `in_forms`, of a form of one.
fn is_copy(name: &str, in_forms: bool) -> bool {
    after_copy(name).is_some_and(|rest| rest.is_empty() || (in_forms && rest.starts_with('_')))
}
