//! What must pass between two commands, from the values of a machine.

use crate::config::Machine;
use crate::kernel::{Ps, ns_to_ps};

/// Durations between the first cycles of two commands, in picoseconds. Arrays are by the operation of the first column
/// command, and, if they are of two dimensions, then by that of the second: reads, then writes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Times {
    /// How long a precharge or a refresh occupies the command bus.
    pub cycle: Ps,
    /// The same of activates and column commands.
    pub long_command: Ps,
    pub burst: Ps,
    /// From the column command to the first data.
    pub to_data: [Ps; 2],
    pub activate_to_column: Ps,
    pub activate_to_precharge: Ps,
    pub precharge_to_activate: Ps,
    pub precharge_to_refresh: Ps,
    pub activates: Ps,
    pub activates_of_group: Ps,
    /// The window of four activates.
    pub window: Ps,
    pub precharges: Ps,
    pub column_to_precharge: [Ps; 2],
    pub columns_of_group: [Ps; 2],
    pub write_to_read_of_group: Ps,
    pub columns_of_rank: [[Ps; 2]; 2],
    pub columns_of_other_rank: [[Ps; 2]; 2],
    pub refresh_to_activate: Ps,
    pub refresh_to_precharge: Ps,
    pub refresh_interval: Ps,
}

impl Times {
    pub fn of(machine: &Machine) -> Self {
        let (device, dram) = (&machine.device, &machine.dram);
        let cycle = device.interface_cycle_ps();
        let whole_cycles = |ns: f64| ns_to_ps(ns).next_multiple_of(cycle);
        let longer = u64::from(dram.command_cycles - 1) * cycle;
        let burst = u64::from(device.burst_cycles) * cycle;
        let [read, write, ccd] = [device.t_cl_ns, device.t_cwd_ns, device.t_ccd_ns].map(whole_cycles);
        let [turn, rank_turn, t_rp, t_rfc] =
            [dram.t_rtw_ns, device.t_rtrs_ns, device.t_rp_ns, dram.t_rfc_ns].map(whole_cycles);
        let written = write + burst;
        let read_to_write = (read + burst + turn).saturating_sub(write);
        let other_read_after_write = (written + rank_turn).saturating_sub(read);
        Self {
            cycle,
            long_command: longer + cycle,
            burst,
            to_data: [read, write],
            activate_to_column: whole_cycles(device.t_rcd_ns),
            activate_to_precharge: whole_cycles(dram.t_ras_ns) + longer,
            precharge_to_activate: t_rp.saturating_sub(longer),
            precharge_to_refresh: t_rp,
            activates: whole_cycles(device.t_rrd_ns),
            activates_of_group: whole_cycles(dram.t_rrd_l_ns),
            window: whole_cycles(device.t_faw_ns),
            precharges: whole_cycles(dram.t_ppd_ns),
            column_to_precharge: [
                whole_cycles(device.t_rtp_ns) + longer,
                written + whole_cycles(device.t_wr_ns) + longer,
            ],
            columns_of_group: [dram.t_ccd_l_ns, dram.t_ccd_l_wr_ns].map(whole_cycles),
            write_to_read_of_group: written + whole_cycles(dram.t_wtr_l_ns),
            columns_of_rank: [[ccd, read_to_write], [written + whole_cycles(device.t_wtr_ns), ccd]],
            columns_of_other_rank: [[burst + rank_turn; 2], [other_read_after_write, 0]],
            refresh_to_activate: t_rfc.saturating_sub(longer),
            refresh_to_precharge: t_rfc,
            refresh_interval: whole_cycles(dram.t_refi_ns),
        }
    }
}
