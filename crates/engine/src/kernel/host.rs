//! The memory of the computer that runs the simulation.

/// The host's memory, in bytes; `None` if the operating system does not report it.
#[derive(Clone, Copy)]
pub struct HostMemory {
    /// All memory of the host.
    pub total: Option<u64>,
    /// Memory that the host can provide without swapping.
    pub available: Option<u64>,
}

impl HostMemory {
    /// Asks the operating system.
    pub fn ask() -> Self {
        let report = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
        let field = |name: &str| {
            let value = report.lines().find_map(|line| line.strip_prefix(name))?;
            value.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
        };
        Self { total: field("MemTotal:"), available: field("MemAvailable:") }
    }
}
