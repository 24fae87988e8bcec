//! The part of a machine that says what DRAM has beyond banks with a row buffer: groups of banks, and refreshes.

use super::fields::{BANKS, TIMING};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What DRAM has beyond banks with a row buffer. `device` has what it shares with them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Dram {
    /// Groups of the banks of a rank.
    #[schemars(range(min = 1, max = 4_096), extend("x-because" = BANKS))]
    pub bank_groups: u32,
    /// Cycles that an activate or a column command occupies the command bus; other commands occupy it for one.
    #[schemars(range(min = 1, max = 16), extend("x-because" = "a command takes a cycle, and none takes more than a few"))]
    pub command_cycles: u32,
    /// Least time from an activate until the row may be closed, in ns.
    #[schemars(range(min = 0, max = 1_000_000), extend("x-because" = TIMING))]
    pub t_ras_ns: f64,
    /// Least time between two reads of a group, in ns.
    #[schemars(range(min = 0, max = 1_000_000), extend("x-because" = TIMING))]
    pub t_ccd_l_ns: f64,
    /// Least time between two writes of a group, in ns.
    #[schemars(range(min = 0, max = 1_000_000), extend("x-because" = TIMING))]
    pub t_ccd_l_wr_ns: f64,
    /// Least time between two activates of a group, in ns.
    #[schemars(range(min = 0, max = 1_000_000), extend("x-because" = TIMING))]
    pub t_rrd_l_ns: f64,
    /// End of write data to the next read command in the group, in ns.
    #[schemars(range(min = 0, max = 1_000_000), extend("x-because" = TIMING))]
    pub t_wtr_l_ns: f64,
    /// End of read data to the first write data in the rank, in ns.
    #[schemars(range(min = 0, max = 1_000_000), extend("x-because" = TIMING))]
    pub t_rtw_ns: f64,
    /// Least time between two precharges of a rank, in ns.
    #[schemars(range(min = 0, max = 1_000_000), extend("x-because" = TIMING))]
    pub t_ppd_ns: f64,
    /// Time in which each rank is refreshed once, in ns.
    #[schemars(range(min = 1, max = 1_000_000), extend("x-because" = "cells lose their contents within milliseconds"))]
    pub t_refi_ns: f64,
    /// What a refresh of a rank takes, in ns.
    #[schemars(range(min = 0, max = 1_000_000), extend("x-because" = TIMING))]
    pub t_rfc_ns: f64,
}
