//! What this computer has.

/// What it says of its memory, in bytes; `None` where it does not say.
#[derive(Clone, Copy)]
pub struct HostMemory {
    /// All of it.
    pub total: Option<u64>,
    /// What it can give without swapping.
    pub available: Option<u64>,
}

impl HostMemory {
    /// Asks.
    pub fn ask() -> Self {
        let report = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
        let field = |name: &str| {
            let value = report.lines().find_map(|line| line.strip_prefix(name))?;
            value.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
        };
        Self { total: field("MemTotal:"), available: field("MemAvailable:") }
    }
}
